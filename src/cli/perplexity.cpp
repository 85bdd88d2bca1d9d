// terrace perplexity: how well a model predicts a text.
#include "tools/perplexity.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress_line.h"

namespace terrace::cli {
namespace {

struct Command {
  ModelOptions model;
  size_t window = 512;
  TextOptions texts;
};

Status run(const Command& command) {
  catch_interrupts();
  TERRACE_TRY(auto engine, load_engine(command.model));
  TERRACE_TRY(const auto texts, tools::read_texts(*engine, command.texts.files, command.texts.tokens));
  for (const tools::Text& text : texts) {
    ProgressLine line("reading " + text.kind, ProgressLine::Unit::tokens);
    TERRACE_TRY(const auto found, tools::measure_perplexity(*engine, text, command.window, line.callback()));
    line.clear();
    fmt::print("{}: perplexity {:.4f} +- {:.4f} ({} tokens scored in {} windows of {})\n", text.kind, found.value,
               found.error, found.scored, found.windows, command.window);
  }
  return Done{};
}

}  // namespace

void add_perplexity(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("perplexity", "How well a model predicts a text");
  auto command = std::make_shared<Command>();
  command->model.add(*sub, /*required=*/true);
  command->texts.add(*sub, /*required=*/true);
  sub->add_option("--window", command->window, "Tokens read together, of which the second half is scored")
      ->check(CLI::Range(4, 1 << 20))
      ->capture_default_str();
  sub->callback([command, &action] { action = [command] { return run(*command); }; });
}

}  // namespace terrace::cli
