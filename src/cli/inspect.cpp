// terrace inspect: what is in a model file, and what a token costs.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/buffer.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "format/block_type.h"

namespace terrace::cli {
namespace {

using Json = nlohmann::ordered_json;
using format::GgufArray;

struct InspectOptions {
  ModelOptions model;
  bool tensors = false, memory = false, json = false;
};

constexpr size_t kShown = 8;        // elements of a list
constexpr size_t kTextShown = 200;  // characters of a string

Json array_json(const GgufArray& array, size_t limit) {
  Json list = Json::array();
  const auto add = [&](const auto& elements, auto convert) {
    for (size_t i = 0; i < elements.size() && i < limit; ++i) list.push_back(convert(elements[i]));
  };
  const auto same = [](const auto& element) { return Json(element); };
  add(array.integers, same);
  add(array.floats, same);
  add(array.strings, same);
  add(array.arrays, [&](const GgufArray& child) { return array_json(child, limit); });
  return list;
}

Json value_json(const format::GgufValue& value) {
  if (const auto* array = std::get_if<std::shared_ptr<const GgufArray>>(&value)) return array_json(**array, SIZE_MAX);
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::shared_ptr<const GgufArray>>)
          return nullptr;
        else
          return v;
      },
      value);
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string value_text(const format::GgufEntry& entry) {
  if (const auto* array = std::get_if<std::shared_ptr<const GgufArray>>(&entry.value)) {
    std::string text = dump(array_json(**array, kShown));
    if ((*array)->size() > kShown) text.insert(text.size() - 1, fmt::format(", ... {} in all", (*array)->size()));
    return text;
  }
  std::string text = dump(value_json(entry.value));
  if (text.size() > kTextShown) text = text.substr(0, kTextShown) + fmt::format("... ({} bytes)", text.size());
  return text;
}

struct TypeTotal {
  size_t tensors = 0;
  uint64_t weights = 0, bytes = 0;
};

std::map<std::string, TypeTotal> totals(const format::GgufFile& file) {
  std::map<std::string, TypeTotal> by_type;
  for (const auto& tensor : file.tensors()) {
    TypeTotal& total = by_type[std::string(format::find_block_type(tensor.type)->name)];
    ++total.tensors;
    total.weights += tensor.elements();
    total.bytes += tensor.data.size();
  }
  return by_type;
}

/// File bytes that one token reads: of experts those that are used, of tables a row, nothing of a draft head.
uint64_t bytes_per_token(const format::GgufFile& file) {
  const auto& metadata = file.metadata();
  const auto text = metadata.string_or("general.architecture", "");
  const std::string architecture = text ? *text : "";
  const auto number = [&](const char* key, uint64_t fallback) {
    const auto value = metadata.integer_or(architecture + key, fallback);
    return value ? *value : fallback;
  };
  const uint64_t experts = std::max<uint64_t>(number(".expert_count", 1), 1), used = number(".expert_used_count", 1);
  const uint64_t drafting = number(".nextn_predict_layers", 0), layers = number(".block_count", 0);
  const std::string draft_layer = fmt::format("blk.{}.", layers - std::min(drafting, layers));
  uint64_t bytes = 0;
  for (const auto& tensor : file.tensors()) {
    const uint64_t size = tensor.data.size();
    if (drafting > 0 && tensor.name.starts_with(draft_layer)) continue;
    const bool embeddings = tensor.name == "token_embd.weight" && file.find("output.weight");
    if (tensor.shape.size() > 1 && (embeddings || tensor.name == "per_layer_token_embd.weight"))
      bytes += size / tensor.shape[1];
    else if (tensor.name.find("_exps.") != std::string::npos)
      bytes += static_cast<uint64_t>(static_cast<double>(size) * static_cast<double>(std::min(used, experts)) /
                                     static_cast<double>(experts));
    else
      bytes += size;
  }
  return bytes;
}

void print_text(const format::GgufFile& file, bool tensors) {
  fmt::print("GGUF version {}, {:.1f} MB\n\nmetadata\n", file.version(), static_cast<double>(file.file_bytes()) / 1e6);
  for (const auto& entry : file.metadata().entries())
    fmt::print("  {:<44} {:<5} {}\n", entry.key, format::gguf_type_name(entry.type), value_text(entry));
  if (tensors) {
    fmt::print("\ntensors\n");
    for (const auto& tensor : file.tensors()) {
      fmt::print("  {:<44} {:<8} [{}]  {} bytes\n", tensor.name, format::find_block_type(tensor.type)->name,
                 fmt::join(tensor.shape, ", "), tensor.data.size());
    }
  }
  fmt::print("\n  {:<10} {:>8} {:>14} {:>12} {:>12}\n", "type", "tensors", "weights", "MB", "bits/weight");
  uint64_t weights = 0;
  for (const auto& [name, total] : totals(file)) {
    weights += total.weights;
    fmt::print("  {:<10} {:>8} {:>14} {:>12.2f} {:>12.2f}\n", name, total.tensors, total.weights,
               static_cast<double>(total.bytes) / 1e6,
               8.0 * static_cast<double>(total.bytes) / static_cast<double>(total.weights));
  }
  fmt::print("\nparameters      {:.2f} M\nbytes per token {:.2f} MB\n", static_cast<double>(weights) / 1e6,
             static_cast<double>(bytes_per_token(file)) / 1e6);
}

void print_json(const format::GgufFile& file) {
  Json json = {
      {"version", file.version()}, {"file_bytes", file.file_bytes()}, {"bytes_per_token", bytes_per_token(file)}};
  uint64_t weights = 0;
  for (const auto& [name, total] : totals(file)) {
    weights += total.weights;
    json["types"][name] = {{"tensors", total.tensors}, {"weights", total.weights}, {"bytes", total.bytes}};
  }
  json["parameters"] = weights;
  for (const auto& entry : file.metadata().entries()) json["metadata"][entry.key] = value_json(entry.value);
  for (const auto& tensor : file.tensors()) {
    json["tensors"].push_back({{"name", tensor.name},
                               {"type", format::find_block_type(tensor.type)->name},
                               {"shape", tensor.shape},
                               {"bytes", tensor.data.size()}});
  }
  std::cout << dump(json) << "\n";
}

Status print_memory(const ModelOptions& options) {
  TERRACE_TRY(auto engine, load_engine(options));
  const auto megabytes = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  fmt::print("\nmemory once loaded (MB)\n");
  for (const Purpose purpose : kPurposes) {
    fmt::print("  {:<12} {:>10.2f}\n", purpose_name(purpose), megabytes(bytes_held(purpose)));
  }
  const uint64_t page = engine->info().page_bytes;
  fmt::print("keys and values: {:.1f} kB per position, {:.1f} MB for a full context of {}\n",
             static_cast<double>(page) / 64e3, megabytes(page) * static_cast<double>(engine->context()) / 64,
             engine->context());
  return Done{};
}

Status run(const InspectOptions& options) {
  TERRACE_TRY(const std::string path, model_path(options.model.model));
  {
    TERRACE_TRY(const auto file, format::GgufFile::open(path));
    if (options.json)
      print_json(file);
    else
      print_text(file, options.tensors);
  }
  return options.memory ? print_memory(options.model) : Status(Done{});
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("inspect", "What is in a model file, and what a token costs");
  auto options = std::make_shared<InspectOptions>();
  options->model.add(*command, /*required=*/false);
  command->add_flag("--tensors", options->tensors, "List the tensors");
  command->add_flag("--memory", options->memory, "Load the model and print what holds how much memory");
  command->add_flag("--json", options->json, "Print one JSON object with everything");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace terrace::cli
