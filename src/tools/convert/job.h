// What a family works on when it describes a converted model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/gguf.h"
#include "tools/convert/config.h"
#include "tools/convert/tensor_plan.h"

namespace terrace::tools {

/// The file's keys below "<architecture>.".
class ModelKeys {
 public:
  ModelKeys(format::GgufMetadata& metadata, std::string_view architecture)
      : metadata_(metadata), prefix_(std::string(architecture) + ".") {}

  void count(std::string_view key, uint64_t value) { metadata_.set(name(key), static_cast<uint32_t>(value)); }
  void number(std::string_view key, double value) { metadata_.set(name(key), static_cast<float>(value)); }
  void flag(std::string_view key, bool value) { metadata_.set(name(key), value); }
  void text(std::string_view key, std::string value) { metadata_.set(name(key), std::move(value)); }
  void counts(std::string_view key, const std::vector<uint64_t>& values) { list(key, format::GgufType::i32, values); }
  void large_counts(std::string_view key, const std::vector<uint64_t>& values) {
    list(key, format::GgufType::u64, values);
  }
  void flags(std::string_view key, const std::vector<bool>& values) {
    list(key, format::GgufType::boolean, {values.begin(), values.end()});
  }

 private:
  std::string name(std::string_view key) const { return prefix_ + std::string(key); }
  void list(std::string_view key, format::GgufType type, const std::vector<uint64_t>& values) {
    format::GgufArray array;
    array.type = type;
    array.integers.assign(values.begin(), values.end());
    metadata_.set(name(key), std::move(array));
  }

  format::GgufMetadata& metadata_;
  std::string prefix_;
};

struct Job {
  Config& config;
  TensorPlan& plan;
  ModelKeys& keys;
  std::vector<std::string>& notes;  ///< lines for the user: what was left out, or assumed
};

}  // namespace terrace::tools
