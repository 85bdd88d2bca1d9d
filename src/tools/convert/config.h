// A checkpoint's config.json: typed values with bounds.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/convert/json_text.h"

namespace terrace::tools {

/// Families read what they need and go on; the first problem is kept and asked for once, with status(). A value with a
/// problem is a harmless one: 1 for a count, so that nobody divides by zero.
class Config {
 public:
  /// `text` of the file `where`. A `text_config` is merged over the rest; the older forms of rope settings become
  /// `rope_parameters`.
  static Result<Config> parse(std::string_view text, std::string_view where);

  /// A key with the value null counts as missing.
  bool has(const char* key) const { return find(key) != nullptr; }
  /// The first of the keys that is there, or the first.
  const char* first_of(std::initializer_list<const char*> keys) const;

  /// A whole number from 1 to `most`.
  uint64_t count(const char* key, uint64_t most = kMostValues) const;
  uint64_t count_or(const char* key, uint64_t fallback, uint64_t most = kMostValues) const;
  /// A whole number from 0 to `most`; 0 if it is missing.
  uint64_t count_or_none(const char* key, uint64_t most = kMostValues) const;
  /// A whole number, or nothing, whatever else the value may be.
  std::optional<uint64_t> plain_number(const char* key) const;
  double number(const char* key) const;
  double number_or(const char* key, double fallback) const;
  bool flag(const char* key, bool fallback) const;
  std::string text(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  /// A list of whole numbers; one number counts as a list of one.
  std::vector<uint64_t> counts(const char* key) const;
  /// An object inside, empty if it is missing.
  Config section(const char* key) const;
  /// The names of the values.
  std::vector<std::string> keys() const;
  /// Sets a value that is missing: families know the defaults of sparse files.
  void add_default(const char* key, Json value);

  void refuse(std::string what) const;
  Status status() const;

  static constexpr uint64_t kMostValues = 0x7fffffff;  // a GGUF counts in 32 bits
  static constexpr uint64_t kMostLayers = 4096;
  static constexpr uint64_t kMostExperts = 65536;

 private:
  Config(Json json, std::string where) : json_(std::move(json)), where_(std::move(where)) {}
  const Json* find(const char* key) const;
  uint64_t whole(const char* key, const Json& value, uint64_t least, uint64_t most) const;

  Json json_;
  std::string where_;
  std::shared_ptr<std::string> problem_ = std::make_shared<std::string>();
};

}  // namespace terrace::tools
