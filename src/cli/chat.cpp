// terrace chat: a conversation in the terminal.
#include <editline/readline.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "base/file.h"
#include "cli/chat_prompt.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/sampling.h"

namespace terrace::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ChatOptions {
  ModelOptions model;
  SamplingOptions sampling;
  std::string system;
};

constexpr const char* kHelp =
    "/help          this list\n"
    "/reset         begin a new conversation\n"
    "/system TEXT   set the system message and begin anew\n"
    "/save FILE     save the conversation as JSON messages\n"
    "/load FILE     go on with a saved conversation\n"
    "/quit          leave (or Ctrl-D)\n"
    "Ctrl-C stops the answer, not the program.\n";

class Chat {
 public:
  Chat(engine::Engine& engine, text::ChatTemplate chat, ChatOptions options)
      : engine_(engine), template_(std::move(chat)), options_(std::move(options)) {
    reset();
  }

  Status answer(const std::string& text) {
    messages_.push_back({{"role", "user"}, {"content", text}});
    const auto result = generate();
    if (!result) {
      messages_.erase(messages_.size() - 1);
      return result.error();
    }
    std::printf("\n");
    if (result->finish == engine::Finish::cancelled) std::printf("(stopped)\n");
    if (result->finish == engine::Finish::context) std::printf("(the context is full; /reset begins anew)\n");
    messages_.push_back({{"role", "assistant"}, {"content", result->text}});
    return Done{};
  }

  /// A line that begins with a slash. Returns whether the program goes on.
  bool command(const std::string& line) {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, space), argument = line.substr(std::min(space + 1, line.size()));
    if (name == "/quit" || name == "/exit") return false;
    if (name == "/help") {
      std::printf("%s", kHelp);
    } else if (name == "/reset") {
      reset();
    } else if (name == "/system") {
      options_.system = argument;
      reset();
    } else if (name == "/save" || name == "/load") {
      const Status status = argument.empty()  ? Status(fail("{} needs a file name", name))
                            : name == "/save" ? save(argument)
                                              : load(argument);
      if (status)
        std::printf("%zu messages %s\n", messages_.size(), name == "/save" ? "saved" : "loaded");
      else
        std::printf("%s\n", status.error().message.c_str());
    } else {
      std::printf("%s is unknown; /help lists the commands\n", name.c_str());
    }
    return true;
  }

 private:
  void reset() {
    messages_ = Json::array();
    if (!options_.system.empty()) messages_.push_back({{"role", "system"}, {"content", options_.system}});
  }

  Result<engine::Generated> generate() {
    TERRACE_TRY(const auto prompt, chat_tokens(template_, *engine_.tokenizer(), messages_));
    // What the new prompt shares with the sequence is not read again; at least one token must be, for its logits.
    size_t shared = 0;
    while (shared < sequence_.size() && shared + 1 < prompt.size() && sequence_.tokens()[shared] == prompt[shared])
      ++shared;
    shared = sequence_.truncate(shared);
    clear_interrupt();
    return engine::generate(engine_, sequence_, std::span(prompt).subspan(shared), options_.sampling.generate,
                            [](std::string_view piece) {
                              std::fwrite(piece.data(), 1, piece.size(), stdout);
                              std::fflush(stdout);
                              return !interrupted();
                            });
  }

  Status save(const std::string& path) const {
    TERRACE_TRY(auto file, OutputFile::create(path));
    TERRACE_CHECK(file.write(messages_.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"));
    return file.commit();
  }

  Status load(const std::string& path) {
    TERRACE_TRY(const std::string text, read_text(path));
    Json messages = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    const auto is_message = [](const Json& m) { return m.is_object() && m.contains("role") && m.contains("content"); };
    if (!messages.is_array() || !std::all_of(messages.begin(), messages.end(), is_message))
      return fail("{}: is not a list of messages", path);
    messages_ = std::move(messages);
    return Done{};
  }

  engine::Engine& engine_;
  text::ChatTemplate template_;
  ChatOptions options_;
  Json messages_;
  engine::Sequence sequence_;
};

/// Reads lines with editing and history from a terminal, plainly from anything else.
class LineReader {
 public:
  LineReader() : terminal_(::isatty(STDIN_FILENO) != 0) {}
  bool next(std::string& line) {
    if (!terminal_) return static_cast<bool>(std::getline(std::cin, line));
    char* input = ::readline("> ");
    while (!input && interrupted()) {  // Ctrl-C at the prompt begins a new line
      clear_interrupt();
      std::printf("\n");
      input = ::readline("> ");
    }
    if (!input) return false;
    line = input;
    std::free(input);
    if (!line.empty()) ::add_history(line.c_str());
    return true;
  }
  bool terminal() const { return terminal_; }

 private:
  bool terminal_;
};

Status run(ChatOptions options) {
  TERRACE_CHECK(options.sampling.finish());
  TERRACE_TRY(auto engine, load_engine(options.model));
  if (!engine->tokenizer()) return fail("the model file has no vocabulary, so it cannot chat");
  TERRACE_TRY(auto chat_template, chat_template_of(engine->metadata()));
  Chat chat(*engine, std::move(chat_template), std::move(options));
  LineReader reader;
  if (reader.terminal()) {
    std::printf("%s, %zu threads, %s. /help lists the commands.\n", engine->info().name.c_str(),
                engine->backend().threads(), std::string(engine->backend().instruction_set()).c_str());
  }
  catch_interrupts();
  for (std::string line; reader.next(line);) {
    if (line.empty()) continue;
    if (line[0] == '/') {
      if (!chat.command(line)) break;
      continue;
    }
    if (const Status status = chat.answer(line); !status) std::printf("%s\n", status.error().message.c_str());
    clear_interrupt();
  }
  return Done{};
}

}  // namespace

void add_chat(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("chat", "A conversation in the terminal");
  auto options = std::make_shared<ChatOptions>();
  options->model.add(*command, /*required=*/false);
  command->add_option("--system", options->system, "System message");
  options->sampling.add(*command);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace terrace::cli
