// terrace convert: a checkpoint folder becomes a GGUF file.
#include "tools/convert/convert.h"

#include <cstdio>

#include "base/cpu.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress_line.h"

namespace terrace::cli {
namespace {

Status run(const tools::ConvertOptions& options) {
  catch_stops();
  ProgressLine line("converting");
  const auto report = tools::convert(options, line.callback());
  line.clear();
  if (!report) {
    if (report.error().message != tools::kInterrupted) return report.error();
    return fail("interrupted; {}.part keeps what is done, and the same command continues it", options.out);
  }
  for (const std::string& note : report->notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  const uint64_t written = report->bytes - report->kept;
  const auto rate = static_cast<uint64_t>(static_cast<double>(written) / std::max(line.seconds(), 1e-3));
  const std::string kept =
      report->kept > 0 ? fmt::format(" ({} of them kept from the run before)", show_bytes(report->kept)) : "";
  std::fprintf(stderr, "%s: %s, %zu tensors, %s%s in %s, %s/s\n", options.out.c_str(), report->architecture.c_str(),
               report->tensors, show_bytes(report->bytes).c_str(), kept.c_str(), show_seconds(line.seconds()).c_str(),
               show_bytes(rate).c_str());
  return Done{};
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("convert", "Makes a GGUF file of a checkpoint (safetensors)");
  auto options = std::make_shared<tools::ConvertOptions>();
  options->threads = usable_cores().size();
  command->add_option("folder", options->folder, "The folder with config.json, the weights and the tokenizer")
      ->required();
  command->add_option("out", options->out, "The GGUF file to write")->required();
  command->add_option("--type", options->type,
                      "Type of the matrices (default: as the checkpoint has them); norms, biases and routers stay F32");
  command
      ->add_option("--tensor-type", options->rules,
                   "REGEX=TYPE for tensors whose GGUF names match; the first rule that matches decides")
      ->expected(1)
      ->take_all();
  command->add_option("--threads", options->threads, "Threads for encoding (default: one per usable core)")
      ->check(CLI::Range(1, 1024));
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace terrace::cli
