// The methods of strings that search, split and join; the method tables.
#include "text/jinja/methods.h"

#include <unordered_map>
#include <unordered_set>

#include "text/jinja/arguments.h"
#include "text/jinja/format.h"
#include "text/jinja/utf8.h"

namespace terrace::text::jinja {

std::vector<std::string> split_space(std::string_view text, int64_t limit) {
  std::vector<std::string> parts;
  while (true) {
    text.remove_prefix(utf8::leading_space(text));
    if (text.empty()) return parts;
    if (limit >= 0 && static_cast<int64_t>(parts.size()) >= limit) {
      text.remove_suffix(utf8::trailing_space(text));
      parts.emplace_back(text);
      return parts;
    }
    size_t end = 0;
    while (end < text.size()) {
      const auto point = utf8::decode(text.substr(end));
      if (utf8::is_space(point.code)) break;
      end += point.size;
    }
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

namespace {

Value strings(Budget& budget, std::vector<std::string> parts) {
  budget.step(parts.size());
  budget.allocate(parts.size(), sizeof(Value) + sizeof(std::string));
  std::vector<Value> items;
  items.reserve(parts.size());
  for (std::string& part : parts) items.emplace_back(std::move(part));
  return make_list(std::move(items));
}

Value split(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("split", arguments, {"sep", "maxsplit"});
  const std::string& text = self.string();
  const int64_t limit = integer_or(a[1], -1, "split");
  interpreter.budget().step(text.size() / 16 + 1);
  if (!given(a[0])) return strings(interpreter.budget(), split_space(text, limit));
  const std::string& separator = string_of(*a[0], "split");
  if (separator.empty()) throw Failure("split() needs a separator that is not empty");
  std::vector<std::string> parts;
  size_t at = 0;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t found = text.find(separator, at);
    if (found == std::string::npos) break;
    parts.push_back(text.substr(at, found - at));
    at = found + separator.size();
  }
  parts.push_back(text.substr(at));
  return strings(interpreter.budget(), std::move(parts));
}

Value rsplit(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("rsplit", arguments, {"sep", "maxsplit"});
  std::string_view text = self.string();
  const int64_t limit = integer_or(a[1], -1, "rsplit");
  interpreter.budget().step(text.size() / 16 + 1);
  std::vector<std::string> parts;
  const auto more = [&] { return limit < 0 || static_cast<int64_t>(parts.size()) < limit; };
  if (given(a[0])) {
    const std::string& separator = string_of(*a[0], "rsplit");
    if (separator.empty()) throw Failure("rsplit() needs a separator that is not empty");
    while (more()) {
      const size_t found = text.rfind(separator);
      if (found == std::string_view::npos) break;
      parts.emplace_back(text.substr(found + separator.size()));
      text = text.substr(0, found);
    }
    parts.emplace_back(text);
  } else {
    if (limit < 0) return strings(interpreter.budget(), split_space(text, -1));
    while (true) {
      text.remove_suffix(utf8::trailing_space(text));
      if (text.empty()) break;
      if (!more()) {
        parts.emplace_back(text);
        break;
      }
      const auto offsets = utf8::offsets(text);
      size_t i = offsets.size() - 1;
      while (i > 0 && !utf8::is_space(utf8::decode(text.substr(offsets[i - 1])).code)) --i;
      parts.emplace_back(text.substr(offsets[i]));
      text = text.substr(0, offsets[i]);
      interpreter.budget().step(text.size() / 16 + 1);
    }
  }
  return strings(interpreter.budget(), {parts.rbegin(), parts.rend()});
}

Value splitlines(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("splitlines", arguments, {"keepends"});
  return strings(interpreter.budget(), split_lines(self.string(), truth_or(a[0], false)));
}

// The part of the text between the optional start and end of find(), count() and their kin, and its first index.
std::string_view window(const Value& self, const Value* start, const Value* end, int64_t& first, bool& empty) {
  const std::string_view text = self.string();
  first = 0;
  empty = false;
  if (!given(start) && !given(end)) return text;
  const auto offsets = utf8::offsets(text);
  const auto length = static_cast<int64_t>(offsets.size()) - 1;
  const auto place = [&](int64_t at) { return at < 0 ? std::max<int64_t>(std::max(at, -length) + length, 0) : at; };
  first = given(start) ? place(integer_of(*start, "find")) : 0;
  const int64_t last = std::min(given(end) ? place(integer_of(*end, "find")) : length, length);
  empty = first > length || first > last;
  if (empty) return {};
  return text.substr(offsets[static_cast<size_t>(first)],
                     offsets[static_cast<size_t>(last)] - offsets[static_cast<size_t>(first)]);
}

int64_t find_index(Interpreter& interpreter, const char* name, const Value& self, const Arguments& arguments,
                   bool from_right) {
  const auto a = bind(name, arguments, {"sub", "start", "end"}, 1);
  const std::string& wanted = string_of(*a[0], name);
  interpreter.budget().step(self.string().size() / 16 + 1);
  int64_t first = 0;
  bool empty = false;
  const auto text = window(self, a[1], a[2], first, empty);
  const size_t at = empty ? std::string_view::npos : from_right ? text.rfind(wanted) : text.find(wanted);
  return at == std::string_view::npos ? -1 : first + static_cast<int64_t>(utf8::length(text.substr(0, at)));
}

Value find(Interpreter& i, const Value& self, const Arguments& a) {
  return Value(find_index(i, "find", self, a, false));
}
Value rfind(Interpreter& i, const Value& self, const Arguments& a) {
  return Value(find_index(i, "rfind", self, a, true));
}

Value index(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const int64_t at = find_index(interpreter, "index", self, arguments, false);
  if (at < 0) throw Failure("index(): the substring was not found");
  return Value(at);
}

Value rindex(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const int64_t at = find_index(interpreter, "rindex", self, arguments, true);
  if (at < 0) throw Failure("rindex(): the substring was not found");
  return Value(at);
}

Value count(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("count", arguments, {"sub", "start", "end"}, 1);
  const std::string& wanted = string_of(*a[0], "count");
  interpreter.budget().step(self.string().size() / 16 + 1);
  int64_t first = 0;
  bool empty = false;
  const auto text = window(self, a[1], a[2], first, empty);
  if (empty) return Value(int64_t{0});
  if (wanted.empty()) return Value::from_size(utf8::length(text) + 1);
  int64_t found = 0;
  for (size_t at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + wanted.size())) ++found;
  return Value(found);
}

bool has_edge(const Value& self, const Arguments& arguments, const char* name, bool at_start) {
  const auto a = bind(name, arguments, {"prefix", "start", "end"}, 1);
  int64_t first = 0;
  bool empty = false;
  const auto text = window(self, a[1], a[2], first, empty);
  const auto matches = [&](const Value& edge) {
    const std::string& piece = string_of(edge, name);
    return !empty && (at_start ? text.starts_with(piece) : text.ends_with(piece));
  };
  if (!a[0]->is_tuple()) return matches(*a[0]);
  for (const Value& edge : a[0]->sequence()->items) {
    if (matches(edge)) return true;
  }
  return false;
}

Value startswith(Interpreter&, const Value& self, const Arguments& a) {
  return Value(has_edge(self, a, "startswith", true));
}
Value endswith(Interpreter&, const Value& self, const Arguments& a) {
  return Value(has_edge(self, a, "endswith", false));
}

Value join(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("join", arguments, {"iterable"}, 1);
  if (!is_iterable(*a[0])) throw Failure("join() needs a list, not " + type_name(*a[0]));
  std::string text;
  bool first = true;
  for (const Value& item : elements(*a[0], interpreter.budget())) {
    if (!first) text += self.string();
    first = false;
    text += string_of(item, "join");
    interpreter.budget().check_length(text.size());
  }
  interpreter.budget().allocate(text.size());
  return Value(std::move(text));
}

Value partition_at(const Value& self, const Arguments& arguments, const char* name, bool from_right) {
  const auto a = bind(name, arguments, {"sep"}, 1);
  const std::string& text = self.string();
  const std::string& separator = string_of(*a[0], name);
  if (separator.empty()) throw Failure(std::string(name) + "() needs a separator that is not empty");
  const size_t at = from_right ? text.rfind(separator) : text.find(separator);
  if (at == std::string::npos) {
    return from_right ? make_tuple({Value(""), Value(""), Value(text)})
                      : make_tuple({Value(text), Value(""), Value("")});
  }
  return make_tuple({Value(text.substr(0, at)), Value(separator), Value(text.substr(at + separator.size()))});
}

Value partition(Interpreter&, const Value& self, const Arguments& a) {
  return partition_at(self, a, "partition", false);
}
Value rpartition(Interpreter&, const Value& self, const Arguments& a) {
  return partition_at(self, a, "rpartition", true);
}

Value format(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  return Value(format_braces(interpreter, self.string(), arguments));
}

Value format_map(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("format_map", arguments, {"mapping"}, 1);
  if (!a[0]->is_dict()) throw Failure("format_map() needs a dictionary");
  Arguments values;
  for (const auto& [key, value] : a[0]->dict()->items) {
    if (key.is_string()) values.named.emplace_back(key.string(), value);
  }
  return Value(format_braces(interpreter, self.string(), values));
}

}  // namespace

Function find_method(const Value& self, std::string_view name, bool& refused) {
  static const std::unordered_map<std::string_view, Function> kSearching = {{"split", split},
                                                                            {"rsplit", rsplit},
                                                                            {"splitlines", splitlines},
                                                                            {"find", find},
                                                                            {"rfind", rfind},
                                                                            {"index", index},
                                                                            {"rindex", rindex},
                                                                            {"count", count},
                                                                            {"startswith", startswith},
                                                                            {"endswith", endswith},
                                                                            {"join", join},
                                                                            {"partition", partition},
                                                                            {"rpartition", rpartition},
                                                                            {"format", format},
                                                                            {"format_map", format_map}};
  static const std::unordered_set<std::string_view> kRefusedOfStrings = {"encode", "maketrans", "translate"};
  static const std::unordered_set<std::string_view> kRefusedOfDicts = {"clear",      "pop",    "popitem",
                                                                       "setdefault", "update", "fromkeys"};
  static const std::unordered_set<std::string_view> kRefusedOfLists = {"append", "clear", "pop",    "reverse",
                                                                       "insert", "sort",  "extend", "remove"};
  if (self.is_string()) {
    refused = kRefusedOfStrings.contains(name);
    const auto at = kSearching.find(name);
    return at != kSearching.end() ? at->second : find_text_method(name);
  }
  if (self.is_dict()) {
    refused = kRefusedOfDicts.contains(name);
    return find_dict_method(name);
  }
  if (self.is_list()) refused = kRefusedOfLists.contains(name);
  const bool counted =
      self.is_list() || self.is_tuple() || (self.is_sequence() && self.sequence()->kind == SequenceKind::range);
  return counted ? find_list_method(self, name) : nullptr;
}

}  // namespace terrace::text::jinja
