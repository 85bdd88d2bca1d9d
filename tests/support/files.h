// Files for tests: a folder that goes away, whole files in and out, and the recorded fixtures.
#pragma once

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "format/safetensors.h"

namespace terrace::testing {

/// The value of a result that a test takes for granted; a failure ends the test with the error's message.
template <class T>
T take(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}
inline void need(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

/// The message of an error, empty for a success.
template <class T>
std::string message_of(const Result<T>& result) {
  return result ? std::string() : result.error().message;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "terrace-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string fixture(const std::string& name) { return std::string(TERRACE_TEST_DATA) + "/fixtures/" + name; }

/// The arrays of a safetensors file.
class Arrays {
 public:
  explicit Arrays(const std::string& path)
      : file_(take(MappedFile::open(path))), arrays_(take(format::parse_safetensors(file_.bytes()))) {}
  bool contains(const std::string& name) const { return arrays_.count(name) > 0; }
  const format::SafetensorsArray& operator[](const std::string& name) const { return arrays_.at(name); }
  template <class T>
  std::vector<T> values(const std::string& name) const {
    const auto data = arrays_.at(name).data;
    std::vector<T> values(data.size() / sizeof(T));
    std::memcpy(values.data(), data.data(), values.size() * sizeof(T));
    return values;
  }

 private:
  MappedFile file_;
  std::map<std::string, format::SafetensorsArray> arrays_;
};

}  // namespace terrace::testing
