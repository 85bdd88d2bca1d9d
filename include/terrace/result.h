// Result<T>: a value, or a sentence that says what was wrong, where, and what to do.
//
// Used for everything that can go wrong outside of the program: files, requests, options. Broken invariants abort
// instead.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace terrace {

/// Why something could not be done, as a sentence for a person.
struct Error {
  std::string message;
};

/// A value of type T or an Error. Reading the value of a failed result is a programming error
/// (std::bad_variant_access).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// The result of something that yields no value: `return Done{};` or an Error.
struct Done {};
using Status = Result<Done>;

}  // namespace terrace
