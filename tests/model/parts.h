// A model file in parts that a test may change and write again.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "format/gguf_writer.h"
#include "model/runs.h"

namespace terrace::testing {

/// The metadata, without the vocabulary, and the tensors of a file, which must outlive it.
struct Parts {
  format::GgufMetadata metadata;
  std::vector<format::GgufTensor> tensors;
  std::string architecture;

  explicit Parts(const format::GgufFile& file) : tensors(file.tensors()) {
    for (const format::GgufEntry& entry : file.metadata().entries())
      if (!entry.key.starts_with("tokenizer.")) metadata.set(entry);
    architecture = take(metadata.string("general.architecture"));
  }
  template <class T>
  void set(const std::string& key, T value) {
    metadata.set(architecture + "." + key, value);
  }
  format::GgufTensor& tensor(const std::string& name) {
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const format::GgufTensor& t) { return t.name == name; });
    return found == tensors.end() ? throw std::runtime_error(name) : *found;
  }
  void remove(const std::string& name) { tensor(name).name = "renamed"; }
  void write(const std::string& path) const {
    auto writer = take(format::GgufWriter::create(path, metadata, tensors));
    for (const format::GgufTensor& t : tensors) need(writer.write(t.data));
    need(writer.finish());
  }
};

}  // namespace terrace::testing
