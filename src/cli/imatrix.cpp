// terrace imatrix: how much each column of a model's matrices matters on a text.
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress_line.h"
#include "tools/importance_collector.h"
#include "tools/texts.h"

namespace terrace::cli {
namespace {

struct Command {
  ModelOptions model;
  std::string out;
  size_t chunk = 512;
  TextOptions texts;
};

Status run(const Command& command) {
  catch_stops();
  tools::ImportanceCollector collector;
  TERRACE_TRY(auto engine, load_engine(command.model, &collector));
  TERRACE_TRY(const auto texts, tools::read_texts(*engine, command.texts.files, command.texts.tokens));
  std::vector<int32_t> tokens;
  for (const tools::Text& text : texts) tokens.insert(tokens.end(), text.tokens.begin(), text.tokens.end());
  ProgressLine line("reading", ProgressLine::Unit::tokens);
  TERRACE_TRY(auto importance, tools::collect_importance(*engine, collector, tokens, command.chunk, line.callback()));
  line.clear();
  for (const tools::Text& text : texts) importance.datasets.push_back(text.kind);
  TERRACE_CHECK(tools::save_importance(command.out, importance));
  size_t unused = 0, all = 0;
  for (const auto& [name, sums] : importance.tensors) {
    all += sums.counts.size();
    unused += static_cast<size_t>(std::count(sums.counts.begin(), sums.counts.end(), 0.0));
  }
  fmt::print("wrote {}: {} tensors, {} pieces of {} tokens\n", command.out, importance.tensors.size(),
             importance.chunks, command.chunk);
  if (unused > 0)
    fmt::print("{} of {} matrices were never used (experts that no token chose); a longer text reaches more\n", unused,
               all);
  return Done{};
}

}  // namespace

void add_imatrix(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("imatrix", "How much each column of a model's matrices matters on a text");
  auto command = std::make_shared<Command>();
  command->model.add(*sub, /*required=*/true);
  command->texts.add(*sub, /*required=*/true);
  sub->add_option("--out", command->out, "The GGUF file to write")->required();
  sub->add_option("--chunk", command->chunk, "Tokens read together")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  sub->callback([command, &action] { action = [command] { return run(*command); }; });
}

}  // namespace terrace::cli
