// The methods of dicts, lists, tuples and ranges.
#include "text/jinja/arguments.h"
#include "text/jinja/methods.h"

namespace terrace::text::jinja {
namespace {

Value get(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  if (!arguments.named.empty()) throw Failure("get() takes no named arguments");
  const auto a = bind("get", arguments, {"key", "default"}, 1);
  const Value* found = self.dict()->find(*a[0], interpreter.budget());
  return found ? *found : a[1] ? *a[1] : Value(None{});
}

Value view(Interpreter& interpreter, const Value& self, const Arguments& arguments, SequenceKind kind) {
  bind("the method", arguments, {});
  std::vector<Value> items;
  interpreter.budget().step(self.dict()->items.size());
  interpreter.budget().allocate(self.dict()->items.size(), sizeof(Value));
  for (const auto& [key, value] : self.dict()->items) {
    items.push_back(kind == SequenceKind::keys ? key : kind == SequenceKind::values ? value : make_tuple({key, value}));
  }
  return make_sequence(kind, std::move(items));
}

Value items(Interpreter& i, const Value& self, const Arguments& a) { return view(i, self, a, SequenceKind::items); }
Value keys(Interpreter& i, const Value& self, const Arguments& a) { return view(i, self, a, SequenceKind::keys); }
Value values(Interpreter& i, const Value& self, const Arguments& a) { return view(i, self, a, SequenceKind::values); }

Value copy(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("copy", arguments, {});
  if (self.is_sequence()) {
    interpreter.budget().allocate(self.sequence()->items.size(), sizeof(Value));
    return Value(std::make_shared<Sequence>(*self.sequence()));
  }
  interpreter.budget().allocate(self.dict()->items.size(), sizeof(Value));
  return Value(std::make_shared<Dict>(*self.dict()));
}

Value index(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("index", arguments, {"value", "start", "stop"}, 1);
  const auto& all = self.sequence()->items;
  const auto length = static_cast<int64_t>(all.size());
  const auto place = [&](const Value* at, int64_t fallback) {
    const int64_t i = integer_or(at, fallback, "index");
    return std::clamp<int64_t>(i < 0 ? std::max(i, -length) + length : i, 0, length);
  };
  const int64_t stop = place(a[2], length);
  for (int64_t i = place(a[1], 0); i < stop; ++i) {
    if (equals(all[static_cast<size_t>(i)], *a[0], interpreter.budget())) return Value(i);
  }
  throw Failure("index(): the value is not in the list");
}

Value count(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("count", arguments, {"value"}, 1);
  int64_t found = 0;
  for (const Value& item : self.sequence()->items) found += equals(item, *a[0], interpreter.budget());
  return Value(found);
}

}  // namespace

Function find_dict_method(std::string_view name) {
  if (name == "get") return get;
  if (name == "items") return items;
  if (name == "keys") return keys;
  if (name == "values") return values;
  return name == "copy" ? copy : nullptr;
}

Function find_list_method(const Value& self, std::string_view name) {
  if (name == "index") return index;
  if (name == "count") return count;
  return name == "copy" && self.is_list() ? copy : nullptr;
}

}  // namespace terrace::text::jinja
