// Any text as a shard index and, behind a zero byte, as a config.json whose family is described without any weights.
#include <cstdint>
#include <string_view>

#include "tools/convert/family.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace terrace::tools;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t split = std::min(text.find('\0'), text.size());
  if (const auto index = parse_shard_index(text.substr(0, split), "index"); index && index->empty()) __builtin_trap();
  auto config = Config::parse(text.substr(std::min(split + 1, size)), "config.json");
  if (!config) return 0;
  const auto family = find_family(*config);
  if (!family) return 0;
  const Checkpoint checkpoint;
  TensorPlan plan(checkpoint);
  terrace::format::GgufMetadata metadata;
  ModelKeys keys(metadata, (*family)->architecture);
  std::vector<std::string> notes;
  Job job = {*config, plan, keys, notes};
  (*family)->describe(job);
  // No family has a model without tensors.
  if (plan.status()) __builtin_trap();
  return 0;
}
