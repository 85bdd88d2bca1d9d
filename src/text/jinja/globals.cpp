// The functions every template can call.
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/objects.h"

namespace terrace::text::jinja {
namespace {

Value range(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  if (!arguments.named.empty()) throw Failure("range() takes no named arguments");
  const auto a = bind("range", arguments, {"start", "stop", "step"}, 1);
  const int64_t first = integer_of(*a[0], "range");
  const Value result =
      a[1] ? make_range(first, integer_of(*a[1], "range"), integer_or(a[2], 1, "range")) : make_range(0, first, 1);
  interpreter.budget().allocate(result.sequence()->items.size(), sizeof(Value));
  interpreter.budget().step(result.sequence()->items.size() / 8);
  return result;
}

// The pairs of a dict() or namespace() call.
std::vector<std::pair<Value, Value>> pairs_of(Interpreter& interpreter, const Arguments& arguments,
                                              const char* callee) {
  std::vector<std::pair<Value, Value>> pairs;
  if (arguments.positional.size() > 1) throw Failure(std::string(callee) + "() takes one dictionary");
  for (const Value& source : arguments.positional) {
    source.require_defined();
    if (source.is_dict()) {
      pairs = source.dict()->items;
      continue;
    }
    for (const Value& pair : elements(source, interpreter.budget())) {
      const auto parts = elements(pair, interpreter.budget());
      if (parts.size() != 2) throw Failure(std::string(callee) + "() needs pairs of key and value");
      pairs.emplace_back(parts[0], parts[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) pairs.emplace_back(Value(name), value);
  interpreter.budget().allocate(pairs.size(), 2 * sizeof(Value));
  return pairs;
}

Value dict(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  auto result = std::make_shared<Dict>();
  for (auto& [key, value] : pairs_of(interpreter, arguments, "dict")) result->set(key, value, interpreter.budget());
  return Value(std::move(result));
}

Value make_namespace(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  auto space = std::make_shared<Namespace>();
  for (auto& [key, value] : pairs_of(interpreter, arguments, "namespace"))
    space->set(string_of(key, "namespace"), value);
  interpreter.clear_at_end(space);
  return Value(ObjectPtr(std::move(space)));
}

Value cycler(Interpreter&, const Value&, const Arguments& arguments) {
  if (!arguments.named.empty()) throw Failure("cycler() takes no named arguments");
  return Value(ObjectPtr(std::make_shared<Cycler>(arguments.positional)));
}

Value joiner(Interpreter&, const Value&, const Arguments& arguments) {
  const auto a = bind("joiner", arguments, {"sep"});
  return Value(ObjectPtr(std::make_shared<Joiner>(a[0] ? *a[0] : Value(", "))));
}

Value lipsum(Interpreter&, const Value&, const Arguments&) { throw Failure("lipsum() is not supported: it is random"); }

Value raise_exception(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  const auto a = bind("raise_exception", arguments, {"message"}, 1);
  Failure failure(interpreter.str(*a[0]));
  failure.plain = true;
  throw failure;
}

Value strftime_now(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  const auto a = bind("strftime_now", arguments, {"format"}, 1);
  const std::string& format = string_of(*a[0], "strftime_now");
  const std::tm now = interpreter.now();
  std::string out;
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%' || at + 1 == format.size()) {
      out += format[at];
      continue;
    }
    // One conversion at a time: a width in the format must not decide how much is written.
    std::string conversion = "%";
    if (format[at + 1] == '-' && at + 2 < format.size()) conversion += format[++at];
    conversion += format[++at];
    if (conversion == "%f") {
      out += "000000";
      continue;
    }
    static constexpr std::string_view kKnown = "aAbBcCdDeFgGhHIjklmMnpPrRSstTuUVwWxXyYzZ%";
    char buffer[128];
    const bool known = kKnown.find(conversion.back()) != std::string_view::npos;
    const size_t size = known ? std::strftime(buffer, sizeof buffer, conversion.c_str(), &now) : 0;
    out += known ? std::string_view(buffer, size) : std::string_view(conversion);
    interpreter.budget().check_length(out.size());
  }
  return Value(std::move(out));
}

}  // namespace

Value find_global(std::string_view name) {
  static constexpr std::pair<const char*, Function> kFunctions[] = {
      {"range", range},   {"dict", dict},     {"namespace", make_namespace},        {"cycler", cycler},
      {"joiner", joiner}, {"lipsum", lipsum}, {"raise_exception", raise_exception}, {"strftime_now", strftime_now}};
  for (const auto& [known, function] : kFunctions) {
    if (name == known) return Value(ObjectPtr(std::make_shared<GlobalFunction>(known, function)));
  }
  return Value::undefined("'" + std::string(name) + "' is undefined");
}

}  // namespace terrace::text::jinja
