// Filters that walk a list and look at attributes of its items.
#include <algorithm>
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/filters.h"
#include "text/jinja/literals.h"
#include "text/jinja/sorting.h"
#include "text/jinja/utf8.h"

namespace terrace::text::jinja {

Value fold_case(const Value& value) { return value.is_string() ? Value(utf8::lower(value.string())) : value; }

Value attribute_path(Interpreter& interpreter, const Value& item, const Value& path, const Value* fallback) {
  Value value = item;
  const auto step = [&](const Value& key) {
    value = interpreter.get_item(value, key);
    if (given(fallback) && value.is_undefined()) value = *fallback;
  };
  if (path.is_none()) return value;
  if (!path.is_string()) {
    step(path);
    return value;
  }
  std::string_view rest = path.string();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    int64_t index = 0;
    const bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    step(digits && parse_integer(part, 10, index) ? Value(index) : Value(part));
    if (dot == std::string_view::npos) return value;
    rest.remove_prefix(dot + 1);
  }
}

namespace {

Arguments without_first(const Arguments& arguments, size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

Value map(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  std::vector<Value> result;
  if (!truth(self)) return make_sequence(SequenceKind::generator, {});
  if (arguments.positional.empty() && !arguments.named.empty()) {
    const auto a = bind("map", arguments, {"attribute", "default"}, 1);
    for (const Value& item : elements(self, interpreter.budget()))
      result.push_back(attribute_path(interpreter, item, *a[0], a[1]));
  } else {
    if (arguments.positional.empty()) throw Failure("map needs the name of a filter or attribute=...");
    const std::string& name = string_of(arguments.positional[0], "map");
    const Arguments rest = without_first(arguments, 1);
    for (const Value& item : elements(self, interpreter.budget()))
      result.push_back(interpreter.apply_filter(name, item, rest));
  }
  return make_sequence(SequenceKind::generator, std::move(result));
}

Value pick(Interpreter& interpreter, const Value& self, const Arguments& arguments, bool wanted, bool by_attribute) {
  if (!truth(self)) return make_sequence(SequenceKind::generator, {});
  const size_t offset = by_attribute ? 1 : 0;
  if (arguments.positional.size() < offset) throw Failure("the filter needs the name of an attribute");
  const bool tested = arguments.positional.size() > offset;
  const Arguments rest = tested ? without_first(arguments, offset + 1) : Arguments{};
  std::vector<Value> result;
  for (const Value& item : elements(self, interpreter.budget())) {
    const Value value = by_attribute ? attribute_path(interpreter, item, arguments.positional[0]) : item;
    const bool holds =
        tested ? interpreter.apply_test(string_of(arguments.positional[offset], "select"), value, rest) : truth(value);
    if (holds == wanted) result.push_back(item);
  }
  return make_sequence(SequenceKind::generator, std::move(result));
}

Value select(Interpreter& i, const Value& self, const Arguments& a) { return pick(i, self, a, true, false); }
Value reject(Interpreter& i, const Value& self, const Arguments& a) { return pick(i, self, a, false, false); }
Value selectattr(Interpreter& i, const Value& self, const Arguments& a) { return pick(i, self, a, true, true); }
Value rejectattr(Interpreter& i, const Value& self, const Arguments& a) { return pick(i, self, a, false, true); }

using Keyed = std::pair<Value, Value>;

void sort_by_key(Interpreter& interpreter, std::vector<Keyed>& keyed, bool reversed) {
  sort_stably(keyed, [&](const Keyed& x, const Keyed& y) {
    const int order =
        reversed ? compare(y.first, x.first, interpreter.budget()) : compare(x.first, y.first, interpreter.budget());
    return order < 0;
  });
}

std::vector<Keyed> with_keys(Interpreter& interpreter, const Value& self, const Value* attribute, bool cased,
                             const Value* fallback) {
  std::vector<Keyed> keyed;
  for (const Value& item : elements(self, interpreter.budget())) {
    const Value key = given(attribute) ? attribute_path(interpreter, item, *attribute, fallback) : item;
    keyed.emplace_back(cased ? key : fold_case(key), item);
  }
  return keyed;
}

Value sort(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const bool cased = truth_or(a[1], false);
  std::vector<Keyed> keyed;
  for (const Value& item : elements(self, interpreter.budget())) {
    // Several attributes, parted by commas, make a key of several parts.
    std::vector<Value> parts;
    const std::string paths = given(a[2]) && a[2]->is_string() ? a[2]->string() : "";
    size_t at = 0;
    do {
      const size_t comma = paths.find(',', at);
      const Value path = !given(a[2]) ? Value(None{}) : a[2]->is_string() ? Value(paths.substr(at, comma - at)) : *a[2];
      const Value key = attribute_path(interpreter, item, path);
      parts.push_back(cased ? key : fold_case(key));
      at = comma == std::string::npos ? comma : comma + 1;
    } while (at != std::string::npos);
    keyed.emplace_back(make_list(std::move(parts)), item);
  }
  sort_by_key(interpreter, keyed, truth_or(a[0], false));
  std::vector<Value> result;
  for (auto& [key, item] : keyed) result.push_back(std::move(item));
  return make_list(std::move(result));
}

Value unique(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("unique", arguments, {"case_sensitive", "attribute"});
  Dict seen;
  std::vector<Value> result;
  for (auto& [key, item] : with_keys(interpreter, self, a[1], truth_or(a[0], false), nullptr)) {
    if (seen.find(key, interpreter.budget())) continue;
    seen.set(key, Value(true), interpreter.budget());
    result.push_back(std::move(item));
  }
  return make_sequence(SequenceKind::generator, std::move(result));
}

Value extreme(Interpreter& interpreter, const Value& self, const Arguments& arguments, const char* name, int sign) {
  const auto a = bind(name, arguments, {"case_sensitive", "attribute"});
  const auto keyed = with_keys(interpreter, self, a[1], truth_or(a[0], false), nullptr);
  if (keyed.empty()) return Value::undefined("there is no smallest or largest item: the sequence is empty");
  const Keyed* best = &keyed.front();
  for (const Keyed& item : keyed) {
    if (&item != best && compare(item.first, best->first, interpreter.budget()) * sign > 0) best = &item;
  }
  return best->second;
}

Value min(Interpreter& i, const Value& self, const Arguments& a) { return extreme(i, self, a, "min", -1); }
Value max(Interpreter& i, const Value& self, const Arguments& a) { return extreme(i, self, a, "max", 1); }

Value groupby(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const bool cased = truth_or(a[2], false);
  auto keyed = with_keys(interpreter, self, a[0], cased, a[1]);
  sort_by_key(interpreter, keyed, false);
  std::vector<Value> groups;
  for (size_t i = 0; i < keyed.size();) {
    std::vector<Value> group;
    const Value key = cased ? keyed[i].first : attribute_path(interpreter, keyed[i].second, *a[0], a[1]);
    size_t end = i;
    while (end < keyed.size() && equals(keyed[end].first, keyed[i].first, interpreter.budget()))
      group.push_back(keyed[end++].second);
    groups.push_back(make_sequence(SequenceKind::group, {key, make_list(std::move(group))}));
    i = end;
  }
  return make_list(std::move(groups));
}

}  // namespace

Function find_selection_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> kFilters = {{"map", map},
                                                                          {"select", select},
                                                                          {"reject", reject},
                                                                          {"selectattr", selectattr},
                                                                          {"rejectattr", rejectattr},
                                                                          {"sort", sort},
                                                                          {"unique", unique},
                                                                          {"min", min},
                                                                          {"max", max},
                                                                          {"groupby", groupby}};
  const auto at = kFilters.find(name);
  return at == kFilters.end() ? nullptr : at->second;
}

}  // namespace terrace::text::jinja
