// terrace quality: how far a model's predictions are from a reference's.
#include "tools/quality.h"

#include <filesystem>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress_line.h"
#include "tools/quality_report.h"

namespace terrace::cli {
namespace {

// Both sides are read in pieces of different sizes: equal results then say that the split has no influence.
constexpr size_t kModelChunk = 96, kReferenceChunk = 256, kOtherChunk = 7;
constexpr size_t kNoiseTokens = 64;

struct Command {
  ModelOptions model;
  std::string reference_model, reference_file, reference_numeric, save, page, json;
  TextOptions texts{{}, 512};
};

std::string name_of(const std::string& path) { return std::filesystem::path(path).filename().string(); }

Status write_text(const std::string& path, const std::string& text) {
  TERRACE_TRY(auto file, OutputFile::create(path));
  TERRACE_CHECK(file.write(text));
  return file.commit();
}

struct OpenReference {
  std::unique_ptr<engine::Engine> engine;  ///< of a model
  std::unique_ptr<tools::Reference> predictions;
};

Result<OpenReference> open_reference(const Command& command) {
  OpenReference opened;
  if (!command.reference_file.empty()) {
    TERRACE_TRY(opened.predictions, tools::file_reference(command.reference_file));
    return opened;
  }
  ModelOptions options = command.model;
  options.model = command.reference_model;
  if (!command.reference_numeric.empty()) options.numeric = command.reference_numeric;
  TERRACE_TRY(opened.engine, load_engine(options));
  TERRACE_TRY(auto texts, tools::read_texts(*opened.engine, command.texts.files, command.texts.tokens));
  TERRACE_CHECK(tools::check_room(*opened.engine, texts));
  opened.predictions = tools::model_reference(*opened.engine, std::move(texts), kReferenceChunk);
  return opened;
}

Status save(const Command& command, engine::Engine& engine) {
  TERRACE_TRY(const auto texts, tools::read_texts(engine, command.texts.files, command.texts.tokens));
  ProgressLine line("recording", ProgressLine::Unit::tokens);
  TERRACE_CHECK(tools::save_reference(command.save, engine, texts, line.callback()));
  line.clear();
  fmt::print("wrote {}\n", command.save);
  return Done{};
}

Status compare(const Command& command, engine::Engine& engine) {
  TERRACE_TRY(auto reference, open_reference(command));
  tools::QualityReport report;
  report.model = name_of(command.model.model);
  report.reference = name_of(command.reference_file.empty() ? command.reference_model : command.reference_file);
  report.model_bytes = engine.file_bytes();
  report.numeric = command.model.numeric;
  ProgressLine line("comparing", ProgressLine::Unit::tokens);
  TERRACE_TRY(report.comparisons, tools::compare(engine, *reference.predictions, kModelChunk, line.callback()));
  tools::Text sample = reference.predictions->texts().front();
  sample.tokens.resize(std::min(kNoiseTokens, sample.tokens.size()));
  TERRACE_TRY(report.noise, tools::self_divergence(engine, sample, kModelChunk, kOtherChunk));
  line.clear();
  fmt::print("{}", tools::quality_table(report));
  if (!command.page.empty()) TERRACE_CHECK(write_text(command.page, tools::quality_page(report)));
  if (!command.json.empty()) TERRACE_CHECK(write_text(command.json, tools::quality_json(report)));
  if (*report.noise != 0) return fail("the model's predictions depend on how its text is cut, which is a defect");
  return Done{};
}

Status run(const Command& command) {
  catch_interrupts();
  const bool texts_needed = command.reference_file.empty();
  const int modes = !command.reference_model.empty() + !command.reference_file.empty() + !command.save.empty();
  if (modes != 1) return fail("say one of --reference-model, --reference and --save-reference");
  if (texts_needed && command.texts.files.empty())
    return fail("name the texts to judge on: --text FILE or --text KIND=FILE");
  if (!texts_needed && !command.texts.files.empty())
    return fail("a reference file brings its own tokens; leave out --text");
  TERRACE_TRY(auto engine, load_engine(command.model));
  return command.save.empty() ? compare(command, *engine) : save(command, *engine);
}

}  // namespace

void add_quality(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("quality", "How far a model's predictions are from a reference's");
  auto command = std::make_shared<Command>();
  command->model.add(*sub, /*required=*/true);
  command->texts.add(*sub, /*required=*/false);
  sub->add_option("--reference-model", command->reference_model, "The GGUF file to compare with");
  sub->add_option("--reference-numeric", command->reference_numeric, "Its numeric profile (default: the model's)")
      ->check(CLI::IsMember({"standard", "reference"}));
  sub->add_option("--reference", command->reference_file,
                  "Recorded predictions: from --save-reference, or from terrace logits");
  sub->add_option("--save-reference", command->save, "Only record the model's own predictions in this file");
  sub->add_option("--page", command->page, "Write an HTML page with the table and plots");
  sub->add_option("--json", command->json, "Write the figures as JSON");
  sub->callback([command, &action] { action = [command] { return run(*command); }; });
}

}  // namespace terrace::cli
