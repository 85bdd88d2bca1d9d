// Small checkpoints for the converter's tests, and the comparison with the files that the public converter made.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "format/gguf.h"
#include "nlohmann/json.hpp"
#include "support/files.h"
#include "tools/convert/convert.h"

namespace terrace::testing {

/// Arrays for a safetensors file, zeros but for their names and shapes.
using ShapeList = std::vector<std::pair<std::string, std::vector<uint64_t>>>;

inline void write_safetensors(const std::string& path, const ShapeList& list, const std::string& dtype = "F32",
                              char fill = 0) {
  std::vector<std::pair<std::string, format::SafetensorsArray>> arrays;
  uint64_t bytes = 0;
  for (const auto& [name, shape] : list) {
    uint64_t values = 1;
    for (const uint64_t size : shape) values *= size;
    bytes += values * (dtype == "F32" ? 4 : 2);
    arrays.push_back({name, {dtype, shape, {}}});
  }
  auto writer = take(format::SafetensorsWriter::create(path, arrays));
  need(writer.write(bytes_of(std::string(bytes, fill))));
  need(writer.finish());
}

inline std::map<std::string, format::GgufEntry> entries_of(const format::GgufFile& file) {
  std::map<std::string, format::GgufEntry> entries;
  for (const auto& entry : file.metadata().entries()) entries.emplace(entry.key, entry);
  return entries;
}

inline bool same_array(const format::GgufArray& a, const format::GgufArray& b) {
  return a.type == b.type && a.integers == b.integers && a.floats == b.floats && a.strings == b.strings;
}

inline bool same_value(const format::GgufEntry& a, const format::GgufEntry& b) {
  if (a.type != b.type || a.value.index() != b.value.index()) return false;
  using Array = std::shared_ptr<const format::GgufArray>;
  if (const auto* array = std::get_if<Array>(&a.value)) return same_array(**array, **std::get_if<Array>(&b.value));
  return a.value == b.value;
}

/// Every key and every tensor, bit for bit, but for `differing` keys.
inline void expect_same_files(const std::string& made, const std::string& expected,
                              const std::set<std::string>& differing) {
  const auto a = take(format::GgufFile::open(made)), b = take(format::GgufFile::open(expected));
  const auto a_keys = entries_of(a), b_keys = entries_of(b);
  for (const auto& [key, entry] : b_keys) {
    if (differing.contains(key)) continue;
    const auto found = a_keys.find(key);
    if (found == a_keys.end()) {
      ADD_FAILURE() << "the key " << key << " is missing";
      continue;
    }
    EXPECT_TRUE(same_value(found->second, entry)) << "the key " << key << " differs";
  }
  for (const auto& [key, entry] : a_keys) EXPECT_TRUE(b_keys.contains(key)) << "the key " << key << " is new";
  EXPECT_EQ(a.tensors().size(), b.tensors().size());
  for (const auto& tensor : b.tensors()) {
    const auto* own = a.find(tensor.name);
    ASSERT_TRUE(own) << "the tensor " << tensor.name << " is missing";
    EXPECT_EQ(own->shape, tensor.shape) << tensor.name;
    EXPECT_EQ(own->type, tensor.type) << tensor.name;
    EXPECT_TRUE(std::equal(own->data.begin(), own->data.end(), tensor.data.begin(), tensor.data.end()))
        << "the values of " << tensor.name << " differ";
  }
}

/// The keys that say who published a model under which name.
inline const std::set<std::string> kPublisherKeys = {"general.name"};

}  // namespace terrace::testing
