#include "text/jinja/template.h"

#include "text/jinja/interpreter.h"
#include "text/jinja/json.h"
#include "text/jinja/parser.h"

namespace terrace::text::jinja {

struct Template::Tree {
  Body body;
};

namespace {

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm result{};
  localtime_r(&now, &result);
  return result;
}

Error error_of(const Failure& failure, int line) {
  if (failure.plain) return Error{failure.what()};
  return Error{"template line " + std::to_string(failure.line ? failure.line : line) + ": " + failure.what()};
}

}  // namespace

Result<Template> Template::parse(std::string source) {
  try {
    auto tree = std::make_shared<Tree>();
    tree->body = Parser(tokenize(std::move(source))).parse();
    return Template(std::move(tree));
  } catch (const Failure& failure) {
    return error_of(failure, 1);
  }
}

Result<std::string> Template::render(const nlohmann::ordered_json& context, const RenderOptions& options) const {
  Interpreter interpreter(options.limits, options.clock ? options.clock : local_time);
  try {
    if (!context.is_object()) return Error{"the context of a template must be an object"};
    for (const auto& [name, value] : context.items()) interpreter.define(name, from_json(value));
  } catch (const Failure& failure) {
    return Error{std::string("the template's input: ") + failure.what()};
  }
  try {
    return interpreter.render(tree_->body);
  } catch (const Failure& failure) {
    return error_of(failure, interpreter.line());
  }
}

}  // namespace terrace::text::jinja
