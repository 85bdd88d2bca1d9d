// terrace chat: a conversation in the terminal.
#include <editline/readline.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "base/file.h"
#include "base/json.h"
#include "cli/answerers.h"
#include "cli/commands.h"

namespace terrace::cli {
namespace {

struct ChatOptions {
  ModelOptions model;
  SamplingOptions sampling;
  std::string system, server, key;
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
  Chat(Answerer& answerer, std::string system) : answerer_(answerer), system_(std::move(system)) { reset(); }

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
      system_ = argument;
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
    if (!system_.empty()) messages_.push_back({{"role", "system"}, {"content", system_}});
  }

  Result<Answered> generate() {
    clear_interrupt();
    return answerer_.answer(messages_, [](std::string_view piece) {
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

  Answerer& answerer_;
  std::string system_;
  Json messages_;
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

/// What the command line says about sampling, by the names of the API; a server has defaults of its own for the rest.
Json request_options(const CLI::App& command, const SamplingOptions& sampling) {
  const engine::SamplerOptions& s = sampling.generate.sampler;
  Json options = Json::object();
  const auto set = [&](const char* option, const char* field, const Json& value) {
    if (command.count(option) > 0) options[field] = value;
  };
  set("--predict", "max_tokens", sampling.max_tokens);
  set("--temp", "temperature", s.temperature);
  set("--top-k", "top_k", s.top_k);
  set("--top-p", "top_p", s.top_p);
  set("--min-p", "min_p", s.min_p);
  set("--repeat-penalty", "repeat_penalty", s.repeat_penalty);
  set("--presence-penalty", "presence_penalty", s.presence_penalty);
  set("--frequency-penalty", "frequency_penalty", s.frequency_penalty);
  set("--seed", "seed", s.seed);
  set("--stop", "stop", sampling.generate.stop);
  return options;
}

Status run(ChatOptions options, const CLI::App& command) {
  TERRACE_CHECK(options.sampling.finish());
  TERRACE_TRY(const auto answerer,
              options.server.empty()
                  ? local_answerer(options.model, options.sampling.generate)
                  : remote_answerer(options.server, options.key, request_options(command, options.sampling)));
  Chat chat(*answerer, options.system);
  LineReader reader;
  if (reader.terminal()) std::printf("%s. /help lists the commands.\n", answerer->name().c_str());
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
  command->add_option("--server", options->server,
                      "Ask a server, such as http://127.0.0.1:8080, instead of loading a model");
  command->add_option("--api-key", options->key, "The server's key");
  options->sampling.add(*command);
  command->callback([options, command, &action] { action = [options, command] { return run(*options, *command); }; });
}

}  // namespace terrace::cli
