// terrace run: one prompt, one answer.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/chat_prompt.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/sampling.h"

namespace terrace::cli {
namespace {

struct RunOptions {
  ModelOptions model;
  SamplingOptions sampling;
  std::string prompt, file, system;
  std::string dash;  ///< "-" behind the model: the prompt is standard input
  bool chat = false, json = false, no_special = false;
};

Result<std::string> prompt_text(const RunOptions& options) {
  if (!options.prompt.empty() && !options.file.empty()) return fail("give the prompt with -p or with -f, not both");
  if (!options.prompt.empty()) return options.prompt;
  if (options.file.empty())
    return fail("there is no prompt; give one with -p TEXT, -f FILE or -f - for standard input");
  return read_text(options.file);
}

Result<std::vector<int32_t>> prompt_tokens(const RunOptions& options, const engine::Engine& engine,
                                           const std::string& text) {
  const text::Tokenizer* tokenizer = engine.tokenizer();
  if (!tokenizer) return fail("the model file has no vocabulary, so it cannot read text");
  if (!options.chat) return tokenizer->encode(text, {.parse_special = !options.no_special, .add_special = true});
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  if (!options.system.empty()) messages.push_back({{"role", "system"}, {"content", options.system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  TERRACE_TRY(const auto chat, chat_template_of(engine.metadata()));
  return chat_tokens(chat, *tokenizer, messages);
}

void print_json(const engine::Generated& result) {
  const double decoded = static_cast<double>(result.tokens.size());
  const nlohmann::ordered_json json = {
      {"text", result.text},
      {"finish_reason", engine::finish_name(result.finish)},
      {"prompt_tokens", result.prompt_tokens},
      {"tokens", result.tokens},
      {"prompt_tokens_per_second", static_cast<double>(result.prompt_tokens) / result.prompt_seconds},
      {"tokens_per_second", result.decode_seconds > 0 ? decoded / result.decode_seconds : 0.0}};
  std::cout << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

Status run(RunOptions options) {
  catch_interrupts();
  TERRACE_CHECK(options.sampling.finish());
  if (!options.system.empty()) options.chat = true;
  if (options.model.model == "-") std::swap(options.model.model, options.dash);
  if (options.dash == "-" && options.file.empty()) options.file = "-";
  TERRACE_TRY(const std::string text, prompt_text(options));
  TERRACE_TRY(auto engine, load_engine(options.model));
  TERRACE_TRY(const auto prompt, prompt_tokens(options, *engine, text));
  engine::Sequence sequence;
  bool broken_pipe = false;
  TERRACE_TRY(const auto result,
              engine::generate(*engine, sequence, prompt, options.sampling.generate, [&](std::string_view piece) {
                if (!options.json && !piece.empty()) {
                  broken_pipe =
                      std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size() || std::fflush(stdout) != 0;
                }
                return !broken_pipe && !interrupted();
              }));
  if (broken_pipe) return fail("cannot write to standard output");
  if (options.json)
    print_json(result);
  else
    std::cout << std::endl;
  if (result.finish == engine::Finish::context)
    return fail("the context of {} positions is full; the answer ends here", engine->context());
  return Done{};
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Answers one prompt");
  auto options = std::make_shared<RunOptions>();
  options->model.add(*command, /*required=*/false);
  command->add_option("dash", options->dash, "-: the prompt is standard input")->check(CLI::IsMember({"-"}));
  command->add_option("-p,--prompt", options->prompt, "The prompt");
  command->add_option("-f,--file", options->file, "A file with the prompt; - reads standard input");
  command->add_flag("--chat", options->chat, "Put the prompt into the model's chat template");
  command->add_option("--system", options->system, "System message (implies --chat)");
  command->add_flag("--no-special", options->no_special, "Take special tokens in the prompt as plain text");
  command->add_flag("--json", options->json, "Print one JSON object instead of text");
  options->sampling.add(*command);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace terrace::cli
