#include "format/gguf.h"

namespace terrace::format {

const GgufEntry* GgufMetadata::find(std::string_view key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

void GgufMetadata::set(GgufEntry entry) {
  const auto [position, added] = index_.emplace(entry.key, entries_.size());
  if (added)
    entries_.push_back(std::move(entry));
  else
    entries_[position->second] = std::move(entry);
}

namespace {

Error missing(std::string_view key) { return fail("the metadata key '{}' is missing", key); }

Error mistyped(const GgufEntry& entry, std::string_view expected) {
  return fail("the metadata key '{}' is of type {}, expected {}", entry.key, gguf_type_name(entry.type), expected);
}

Result<uint64_t> as_integer(const GgufEntry& entry) {
  if (const auto* number = std::get_if<uint64_t>(&entry.value)) return *number;
  if (const auto* number = std::get_if<int64_t>(&entry.value)) {
    if (*number < 0) return fail("the metadata key '{}' is {}, expected no negative number", entry.key, *number);
    return static_cast<uint64_t>(*number);
  }
  return mistyped(entry, "an integer");
}

Result<double> as_number(const GgufEntry& entry) {
  if (const auto* number = std::get_if<double>(&entry.value)) return *number;
  if (const auto* number = std::get_if<int64_t>(&entry.value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<uint64_t>(&entry.value)) return static_cast<double>(*number);
  return mistyped(entry, "a number");
}

template <class T>
Result<T> as(const GgufEntry& entry, std::string_view expected) {
  if (const auto* value = std::get_if<T>(&entry.value)) return *value;
  return mistyped(entry, expected);
}

}  // namespace

Result<uint64_t> GgufMetadata::integer(std::string_view key) const {
  const GgufEntry* entry = find(key);
  return entry ? as_integer(*entry) : Result<uint64_t>(missing(key));
}

Result<double> GgufMetadata::number(std::string_view key) const {
  const GgufEntry* entry = find(key);
  return entry ? as_number(*entry) : Result<double>(missing(key));
}

Result<bool> GgufMetadata::boolean(std::string_view key) const {
  const GgufEntry* entry = find(key);
  return entry ? as<bool>(*entry, "a boolean") : Result<bool>(missing(key));
}

Result<std::string> GgufMetadata::string(std::string_view key) const {
  const GgufEntry* entry = find(key);
  return entry ? as<std::string>(*entry, "a string") : Result<std::string>(missing(key));
}

Result<const GgufArray*> GgufMetadata::array(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (!entry) return missing(key);
  if (const auto* array = std::get_if<std::shared_ptr<const GgufArray>>(&entry->value)) return array->get();
  return mistyped(*entry, "an array");
}

Result<uint64_t> GgufMetadata::integer_or(std::string_view key, uint64_t fallback) const {
  return contains(key) ? integer(key) : Result<uint64_t>(fallback);
}
Result<double> GgufMetadata::number_or(std::string_view key, double fallback) const {
  return contains(key) ? number(key) : Result<double>(fallback);
}
Result<bool> GgufMetadata::boolean_or(std::string_view key, bool fallback) const {
  return contains(key) ? boolean(key) : Result<bool>(fallback);
}
Result<std::string> GgufMetadata::string_or(std::string_view key, std::string fallback) const {
  return contains(key) ? string(key) : Result<std::string>(std::move(fallback));
}

}  // namespace terrace::format
