// terrace quantize: a smaller file of the same model.
#include "tools/quantize.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress_line.h"

namespace terrace::cli {
namespace {

struct Command {
  tools::QuantizeOptions options;
  bool dry_run = false;
};

struct Totals {
  uint64_t from = 0, to = 0, elements = 0;
};

Totals totals_of(const tools::QuantizeReport& report) {
  Totals totals;
  for (const auto& tensor : report.tensors) {
    totals.from += tensor.from_bytes;
    totals.to += tensor.to_bytes;
    totals.elements += tensor.elements;
  }
  return totals;
}

void print_tensors(const tools::QuantizeReport& report) {
  fmt::print("{:44} {:>8} {:>8} {:>12}\n", "tensor", "from", "to", "bytes");
  for (const auto& tensor : report.tensors)
    fmt::print("{:44} {:>8} {:>8} {:>12}{}{}\n", tensor.name, tensor.from, tensor.to, tensor.to_bytes,
               tensor.fallback ? "  (its rows do not fit the mix's type)" : "", tensor.important ? "  imatrix" : "");
}

void print_summary(const tools::QuantizeReport& report) {
  std::map<std::string, Totals> types;
  for (const auto& tensor : report.tensors) {
    types[tensor.to].to += tensor.to_bytes;
    ++types[tensor.to].elements;
  }
  const Totals totals = totals_of(report);
  fmt::print("{} -> {}, {:.2f} bits per weight\n", show_bytes(totals.from), show_bytes(totals.to),
             8.0 * static_cast<double>(totals.to) / static_cast<double>(std::max<uint64_t>(1, totals.elements)));
  for (const auto& [type, part] : types)
    fmt::print("  {:8} {:5} tensors  {}\n", type, part.elements, show_bytes(part.to));
  const auto fallbacks =
      std::count_if(report.tensors.begin(), report.tensors.end(), [](const auto& t) { return t.fallback; });
  if (fallbacks > 0)
    fmt::print("{} tensors have a larger type, since their rows do not fit the mix's blocks\n", fallbacks);
}

void warn(const tools::QuantizeOptions& options, const tools::QuantizeReport& report) {
  const bool low = std::any_of(report.tensors.begin(), report.tensors.end(), [](const auto& tensor) {
    return tensor.to.starts_with("IQ1") || tensor.to.starts_with("IQ2") || tensor.to == "IQ3_XXS";
  });
  if (low && options.importance.empty())
    fmt::print(stderr, "note: types this small need an importance matrix to be any good; see terrace imatrix\n");
}

Status run(const Command& command) {
  if (command.dry_run) {
    TERRACE_TRY(const auto report, tools::plan_quantize(command.options));
    print_tensors(report);
    print_summary(report);
    warn(command.options, report);
    return Done{};
  }
  catch_stops();
  ProgressLine line("quantising");
  const auto report = tools::quantize(command.options, line.callback());
  line.clear();
  if (!report && report.error().message == tools::kInterrupted)
    return fail("interrupted; the same command goes on where this one stopped");
  TERRACE_CHECK(report);
  warn(command.options, *report);
  print_summary(*report);
  for (const std::string& file : report->files) fmt::print("wrote {} in {}\n", file, show_seconds(line.seconds()));
  return Done{};
}

}  // namespace

void add_quantize(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("quantize", "Makes a smaller file of the same model");
  auto command = std::make_shared<Command>();
  tools::QuantizeOptions& options = command->options;
  sub->add_option("in", options.in, "The GGUF file to read: F32, F16 or BF16 (the first file of a split model)")
      ->required();
  sub->add_option("out", options.out, "The GGUF file to write")->required();
  sub->add_option("--type", options.mix, "Type or mix: Q4_K_M, Q8_0, IQ2_XS, ...")->required();
  sub->add_option("--imatrix", options.importance, "Importance of the columns, as terrace imatrix writes it");
  sub->add_option("--tensor-type", options.rules, "REGEX=TYPE for tensors whose name matches; the first rule counts")
      ->expected(1)
      ->take_all();
  sub->add_flag("--pure", options.pure, "The same type for all matrices, instead of the mix");
  sub->add_flag("--keep-split", options.keep_split, "As many files as the input has");
  sub->add_flag("--allow-requantize", options.from_quantized, "Also from types that are already quantised");
  sub->add_flag("--dry-run", command->dry_run, "Only show what each tensor would become");
  sub->add_option("--threads", options.threads, "Threads (default: one per core)")->check(CLI::Range(1, 1024));
  sub->callback([command, &action] { action = [command] { return run(*command); }; });
}

}  // namespace terrace::cli
