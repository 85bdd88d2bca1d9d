// The fields of a request: typed, with bounds, and errors that name the path.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/refusal.h"

namespace terrace::serve {

/// Readers take what they need and go on; the first problem is kept and asked for once, at the end. A field that is
/// absent or null leaves the value as it was. Unknown fields are nobody's business.
class Fields {
 public:
  /// `object` must be an object, or that is the problem. `path` names it; empty: the body itself.
  Fields(const Json& object, std::string path, std::optional<Refusal>& problem);

  /// The field if it is there and not null.
  const Json* find(const char* key) const;
  bool has(const char* key) const { return find(key) != nullptr; }
  std::string path(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

  void read(const char* key, bool& value) const;
  void read(const char* key, std::string& value) const;
  /// A number; one without a fraction where the value is whole.
  void read(const char* key, double& value, double low = kLowest, double high = kHighest) const;
  void read(const char* key, int64_t& value, int64_t low = INT64_MIN, int64_t high = INT64_MAX) const;
  void read(const char* key, size_t& value, size_t low = 0, size_t high = SIZE_MAX) const;
  template <class T, class... Bounds>
  void read(const char* key, std::optional<T>& value, Bounds... bounds) const {
    if (!has(key)) return;
    T read_value{};
    read(key, read_value, bounds...);
    value = std::move(read_value);
  }
  /// One of `choices`, or that is the problem.
  void read_choice(const char* key, std::string& value, std::initializer_list<std::string_view> choices) const;
  /// A string or a list of strings.
  void read_strings(const char* key, std::vector<std::string>& values, size_t most) const;
  const Json* list(const char* key) const;    ///< null also when it is no list, which is a problem
  const Json* object(const char* key) const;  ///< the same for objects

  void refuse(const char* key, std::string message) const;

 private:
  static constexpr double kLowest = std::numeric_limits<double>::lowest(),
                          kHighest = std::numeric_limits<double>::max();
  void refuse_kind(const char* key, std::string_view wanted, const Json& found) const;

  const Json& object_;
  std::string path_;
  std::optional<Refusal>& problem_;
};

/// What a value is, for messages: "a string", "a list"...
std::string_view kind_of(const Json& value);

/// Keeps the first problem only.
inline void refuse(std::optional<Refusal>& problem, std::string path, std::string message) {
  if (!problem) problem = Refusal{400, std::move(message), std::move(path)};
}

}  // namespace terrace::serve
