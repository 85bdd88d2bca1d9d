#include <algorithm>
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/filters.h"
#include "text/jinja/sorting.h"

namespace terrace::text::jinja {
namespace {

Value length(Interpreter&, const Value& self, const Arguments& arguments) {
  bind("length", arguments, {});
  const auto count = length_of(self);
  if (!count) throw Failure("a value of type " + type_name(self) + " has no length");
  return Value::from_size(*count);
}

Value list(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("list", arguments, {});
  return make_list(elements(self, interpreter.budget()));
}

Value first(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("first", arguments, {});
  if (self.is_sequence() && self.sequence()->kind == SequenceKind::generator) {
    Sequence& generator = *self.sequence();
    if (generator.used < generator.items.size()) return generator.items[generator.used++];
    return Value::undefined("there is no first item: the sequence is empty");
  }
  const auto all = elements(self, interpreter.budget());
  return all.empty() ? Value::undefined("there is no first item: the sequence is empty") : all.front();
}

void require_reversible(const Value& self) {
  self.require_defined();
  if (!is_iterable(self) || (self.is_sequence() && self.sequence()->kind == SequenceKind::generator)) {
    throw Failure("a value of type " + type_name(self) + " cannot be reversed");
  }
}

Value last(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("last", arguments, {});
  require_reversible(self.is_undefined() ? Value("") : self);
  const auto all = elements(self, interpreter.budget());
  return all.empty() ? Value::undefined("there is no last item: the sequence is empty") : all.back();
}

Value reverse(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("reverse", arguments, {});
  auto all = elements(self, interpreter.budget());
  std::reverse(all.begin(), all.end());
  if (self.is_string()) {
    std::string text;
    for (const Value& character : all) text += character.string();
    return Value(std::move(text));
  }
  const bool from_generator = self.is_sequence() && self.sequence()->kind == SequenceKind::generator;
  return make_sequence(from_generator ? SequenceKind::list : SequenceKind::generator, std::move(all));
}

Value join(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("join", arguments, {"d", "attribute"});
  const std::string separator = a[0] ? interpreter.str(*a[0]) : "";
  std::string text;
  bool at_start = true;
  for (const Value& item : elements(self, interpreter.budget())) {
    if (!at_start) text += separator;
    at_start = false;
    text += interpreter.str(given(a[1]) ? attribute_path(interpreter, item, *a[1]) : item);
    interpreter.budget().check_length(text.size());
  }
  interpreter.budget().allocate(text.size());
  return Value(std::move(text));
}

Value items(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("items", arguments, {});
  if (self.is_undefined()) return make_sequence(SequenceKind::generator, {});
  if (!self.is_dict()) throw Failure("items needs a dictionary, not " + type_name(self));
  std::vector<Value> pairs;
  interpreter.budget().allocate(self.dict()->items.size(), 2 * sizeof(Value));
  for (const auto& [key, value] : self.dict()->items) pairs.push_back(make_tuple({key, value}));
  return make_sequence(SequenceKind::generator, std::move(pairs));
}

Value dictsort(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = a[1] ? string_of(*a[1], "dictsort") : "key";
  if (by != "key" && by != "value") throw Failure("dictsort sorts by \"key\" or \"value\"");
  self.require_defined();
  if (!self.is_dict()) throw Failure("dictsort needs a dictionary, not " + type_name(self));
  const bool cased = truth_or(a[0], false);
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& [key, value] : self.dict()->items) {
    const Value& by_value = by == "key" ? key : value;
    keyed.emplace_back(cased ? by_value : fold_case(by_value), make_tuple({key, value}));
  }
  const bool reversed = truth_or(a[2], false);
  sort_stably(keyed, [&](const auto& x, const auto& y) {
    return reversed ? compare(y.first, x.first, interpreter.budget()) < 0
                    : compare(x.first, y.first, interpreter.budget()) < 0;
  });
  std::vector<Value> result;
  for (auto& [key, pair] : keyed) result.push_back(std::move(pair));
  return make_list(std::move(result));
}

Value batch(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("batch", arguments, {"linecount", "fill_with"}, 1);
  const int64_t size = integer_of(*a[0], "batch");
  std::vector<Value> rows, row;
  for (const Value& item : elements(self, interpreter.budget())) {
    if (static_cast<int64_t>(row.size()) == size) rows.push_back(make_list(std::exchange(row, {})));
    row.push_back(item);
  }
  if (!row.empty()) {
    if (given(a[1]) && static_cast<int64_t>(row.size()) < size) {
      interpreter.budget().allocate(static_cast<size_t>(size), sizeof(Value));
      row.resize(static_cast<size_t>(size), *a[1]);
    }
    rows.push_back(make_list(std::move(row)));
  }
  return make_sequence(SequenceKind::generator, std::move(rows));
}

Value slice_filter(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("slice", arguments, {"slices", "fill_with"}, 1);
  const auto all = elements(self, interpreter.budget());
  const int64_t count = integer_of(*a[0], "slice");
  if (count == 0) throw Failure("slice needs a count other than 0");
  std::vector<Value> rows;
  const auto total = static_cast<int64_t>(all.size());
  if (count > 0) interpreter.budget().allocate(static_cast<size_t>(count), 2 * sizeof(Value));
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    interpreter.budget().step();
    const bool extra = i < total % count;
    const int64_t size = total / count + (extra ? 1 : 0);
    std::vector<Value> row(all.begin() + at, all.begin() + at + size);
    at += size;
    if (given(a[1]) && !extra) row.push_back(*a[1]);
    rows.push_back(make_list(std::move(row)));
  }
  return make_sequence(SequenceKind::generator, std::move(rows));
}

Value sum(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("sum", arguments, {"attribute", "start"});
  Value total = a[1] ? *a[1] : Value(int64_t{0});
  if (total.is_string()) throw Failure("sum cannot add strings: use join");
  for (const Value& item : elements(self, interpreter.budget())) {
    total =
        apply_binary(interpreter, Operator::add, total, given(a[0]) ? attribute_path(interpreter, item, *a[0]) : item);
  }
  return total;
}

Value random(Interpreter&, const Value&, const Arguments&) {
  throw Failure("the filter 'random' is not supported: the same messages must give the same prompt");
}

Value urlize(Interpreter&, const Value&, const Arguments&) {
  throw Failure("the filter 'urlize' is not supported: it makes HTML");
}

}  // namespace

Function find_sequence_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> kFilters = {
      {"length", length},      {"count", length}, {"list", list},     {"first", first},       {"last", last},
      {"reverse", reverse},    {"join", join},    {"items", items},   {"dictsort", dictsort}, {"batch", batch},
      {"slice", slice_filter}, {"sum", sum},      {"random", random}, {"urlize", urlize}};
  const auto at = kFilters.find(name);
  return at == kFilters.end() ? nullptr : at->second;
}

Function find_filter(std::string_view name) {
  for (const auto find : {find_text_filter, find_number_filter, find_sequence_filter, find_selection_filter}) {
    if (const Function filter = find(name)) return filter;
  }
  return nullptr;
}

}  // namespace terrace::text::jinja
