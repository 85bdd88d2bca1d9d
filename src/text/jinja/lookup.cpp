// Attributes, items and calls, as Jinja's sandbox resolves them.
#include "text/jinja/objects.h"
#include "text/jinja/utf8.h"

namespace terrace::text::jinja {
namespace {

Value missing(const Value& object, std::string_view name) {
  return Value::undefined("a value of type " + type_name(object) + " has no attribute '" + std::string(name) + "'");
}

// The method or object attribute `name`. A method that would change its object is undefined, as in the sandbox.
std::optional<Value> attribute_of(Interpreter& interpreter, const Value& object, std::string_view name) {
  if (object.is_object()) return object.object()->attribute(interpreter, name);
  if (object.is_sequence() && object.sequence()->kind == SequenceKind::group) {
    if (name == "grouper") return object.sequence()->items[0];
    if (name == "list") return object.sequence()->items[1];
  }
  bool refused = false;
  if (const Function function = find_method(object, name, refused)) {
    return Value(ObjectPtr(std::make_shared<BoundMethod>(object, std::string(name), function)));
  }
  if (!refused) return std::nullopt;
  return Value::undefined("the method '" + std::string(name) + "' of " + type_name(object) +
                          " is not allowed: templates cannot change their values");
}

}  // namespace

Value Interpreter::get_attribute(const Value& object, std::string_view name) {
  object.require_defined();
  if (auto attribute = attribute_of(*this, object, name)) return *std::move(attribute);
  if (object.is_dict()) {
    if (const Value* value = object.dict()->find(name)) return *value;
  }
  return missing(object, name);
}

Value Interpreter::get_item(const Value& object, const Value& key) {
  object.require_defined();
  if (object.is_dict()) {
    const bool hashable = !key.is_dict() && !key.is_list();
    if (const Value* value = hashable ? object.dict()->find(key, budget_) : nullptr) return *value;
  } else if (const auto index = key.integer()) {
    if (object.is_string()) {
      const std::string& text = object.string();
      budget_.step(text.size() / 64 + 1);
      const auto length = static_cast<int64_t>(utf8::length(text));
      int64_t at = *index < 0 ? *index + length : *index;
      if (at < 0 || at >= length) return Value::undefined("a string index is out of range");
      size_t offset = 0;
      for (; at > 0; --at) offset += utf8::decode(std::string_view(text).substr(offset)).size;
      return Value(text.substr(offset, utf8::decode(std::string_view(text).substr(offset)).size));
    }
    if (object.is_sequence()) {
      const Sequence& sequence = *object.sequence();
      const bool indexed = object.is_list() || object.is_tuple() || sequence.kind == SequenceKind::range;
      const auto length = static_cast<int64_t>(sequence.items.size());
      const int64_t at = *index < 0 ? *index + length : *index;
      if (indexed && at >= 0 && at < length) return sequence.items[static_cast<size_t>(at)];
      return Value::undefined("an index is out of range");
    }
  }
  if (!key.is_string()) return Value::undefined("a value of type " + type_name(object) + " has no such item");
  if (auto attribute = attribute_of(*this, object, key.string())) return *std::move(attribute);
  return missing(object, key.string());
}

Value Interpreter::call(const Value& callee, Arguments arguments) {
  callee.require_defined();
  budget_.step();
  if (!callee.is_object() || !callee.object()->callable())
    throw Failure("a value of type " + type_name(callee) + " cannot be called");
  // The callee may be dropped from its scope while it runs.
  const ObjectPtr object = callee.object();
  return object->call(*this, std::move(arguments));
}

Value Interpreter::apply_filter(std::string_view name, const Value& input, const Arguments& arguments) {
  budget_.step();
  const Function filter = find_filter(name);
  if (!filter) throw Failure("there is no filter named '" + std::string(name) + "'");
  return filter(*this, input, arguments);
}

bool Interpreter::apply_test(std::string_view name, const Value& input, const Arguments& arguments) {
  budget_.step();
  const Test test = find_test(name);
  if (!test) throw Failure("there is no test named '" + std::string(name) + "'");
  return test(*this, input, arguments);
}

}  // namespace terrace::text::jinja
