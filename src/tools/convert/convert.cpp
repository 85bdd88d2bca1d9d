#include "tools/convert/convert.h"

#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>

#include "base/cpu.h"
#include "base/file.h"
#include "tools/convert/family.h"
#include "tools/convert/output_types.h"
#include "tools/convert/tensor_writer.h"

namespace terrace::tools {
namespace {

constexpr size_t kMaximumConfig = size_t{16} << 20;

std::string folder_name(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(folder, ignored).filename().string();
}

/// "1.5B", "551K": at least two digits.
std::string round_count(double count) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}};
  std::pair<double, const char*> unit = {1e3, "K"};
  for (const auto& larger : kUnits) {
    if (count > larger.first) {
      unit = larger;
      break;
    }
  }
  const double scaled = count / unit.first;
  const double whole = std::nearbyint(scaled);
  return fmt::format("{:.{}f}{}", scaled, whole >= 10 ? 0 : whole >= 1 ? 1 : 2, unit.second);
}

/// "551K", or "16x271K" with experts: their number, and the values that a single one and all else have.
std::string size_label(const std::vector<PlannedTensor>& tensors) {
  double all = 0, shared = 0, one_expert = 0;
  uint64_t experts = 0, expert_tensors = 0;
  for (const PlannedTensor& tensor : tensors) {
    const auto values = static_cast<double>(tensor.values());
    all += values;
    if (tensor.name.find("_exps.") != std::string::npos && tensor.shape.size() >= 3) {
      one_expert += values / static_cast<double>(tensor.shape[0]);
      experts += tensor.shape[0];
      ++expert_tensors;
    } else {
      shared += values;
    }
  }
  if (expert_tensors == 0) return round_count(all);
  return fmt::format("{}x{}", experts / expert_tensors, round_count(shared + one_expert));
}

/// How the publisher recommends to sample, where the checkpoint says so.
void write_sampling_keys(const std::string& folder, format::GgufMetadata& metadata) {
  const auto json = read_json(folder + "/generation_config.json");
  if (!json || !json->is_object()) return;
  struct Number {
    const char *from, *to;
  };
  constexpr Number kNumbers[] = {{"top_p", "general.sampling.top_p"},
                                 {"min_p", "general.sampling.min_p"},
                                 {"temperature", "general.sampling.temp"},
                                 {"repetition_penalty", "general.sampling.penalty_repeat"}};
  if (json->contains("top_k") && (*json)["top_k"].is_number_unsigned()) {
    const auto most = std::min<uint64_t>((*json)["top_k"].get<uint64_t>(), 0x7fffffff);
    metadata.set({"general.sampling.top_k", format::GgufType::i32, static_cast<int64_t>(most)});
  }
  for (const Number& number : kNumbers) {
    if (json->contains(number.from) && (*json)[number.from].is_number())
      metadata.set(number.to, (*json)[number.from].get<float>());
  }
}

/// Everything the file depends on: the options, and which inputs they were.
std::string fingerprint(const ConvertOptions& options, const Checkpoint& checkpoint) {
  std::string text = fmt::format("convert 1, type '{}', rules '{}'", options.type, fmt::join(options.rules, "' '"));
  std::vector<std::string> paths = checkpoint.paths();
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.json", "tokenizer.model",
                           "tokenizer_config.json", "chat_template.jinja", "chat_template.json"})
    paths.push_back(options.folder + "/" + name);
  for (const std::string& path : paths) text += file_stamp(path);
  return text;
}

Status write_tensors(const TensorPlan& plan, const std::vector<format::GgufTensor>& types, ResumableGguf& out,
                     ThreadTeam& team, const Progress& progress) {
  TensorWriter writer(plan.checkpoint(), team);
  while (out.place().tensor < types.size()) {
    const size_t index = out.place().tensor;
    const PlannedTensor& tensor = plan.tensors()[index];
    const auto go_on = [&] { return !progress || progress(out.done(), out.total(), tensor.name); };
    Status status = go_on() ? writer.write(tensor, *format::find_block_type(types[index].type), out, go_on)
                            : Status(fail("{}", kInterrupted));
    if (!status) {
      if (status.error().message == kInterrupted) TERRACE_CHECK(out.keep());
      return status;
    }
  }
  return out.finish();
}

struct Described {
  TensorPlan plan;
  format::GgufMetadata metadata;
};

/// Keys and tensors, without a look at the weights.
Status describe(const ConvertOptions& options, const Family& family, Config& config, Described& model,
                std::vector<std::string>& notes) {
  format::GgufMetadata& metadata = model.metadata;
  metadata.set("general.architecture", std::string(family.architecture));
  metadata.set("general.type", "model");
  metadata.set("general.name", folder_name(options.folder));
  ModelKeys keys(metadata, family.architecture);
  Job job = {config, model.plan, keys, notes};
  family.describe(job);
  TERRACE_CHECK(config.status());
  TERRACE_CHECK(model.plan.status());
  metadata.set("general.size_label", size_label(model.plan.tensors()));
  write_sampling_keys(options.folder, metadata);
  metadata.set("general.quantization_version", format::kQuantizationVersion);
  return convert_tokenizer(options.folder, config, family.tokenizer, metadata, notes);
}

}  // namespace

Result<ConvertReport> convert(const ConvertOptions& options, const Progress& progress) {
  TypeChoice choice;
  if (!options.type.empty()) {
    TERRACE_TRY(choice.type, output_type(options.type));
  }
  TERRACE_TRY(choice.rules, TypeRules::parse(options.rules));
  const std::string config_path = options.folder + "/config.json";
  TERRACE_TRY(const std::string text, read_text(config_path, kMaximumConfig));
  TERRACE_TRY(Config config, Config::parse(text, config_path));
  TERRACE_TRY(const Family* family, find_family(config));
  TERRACE_TRY(const Checkpoint checkpoint, Checkpoint::open(options.folder));
  ConvertReport report;
  report.architecture = family->architecture;
  Described model = {TensorPlan(checkpoint), {}};
  TERRACE_CHECK(describe(options, *family, config, model, report.notes));
  TERRACE_TRY(const auto tensors, choose_types(model.plan.tensors(), choice, report.notes));
  model.metadata.set("general.file_type", file_type(tensors));
  TERRACE_TRY(auto out, ResumableGguf::open(options.out, model.metadata, tensors, fingerprint(options, checkpoint)));
  report.tensors = tensors.size();
  report.bytes = out.total();
  report.kept = out.kept();
  ThreadTeam team(std::max<size_t>(1, options.threads), usable_cores());
  TERRACE_CHECK(write_tensors(model.plan, tensors, out, team, progress));
  return report;
}

}  // namespace terrace::tools
