#include "text/chat_format/call_expressions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/chat_format/tool_list.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMark = "<|\"|>";

const Json& properties_of(const Json& parameters) {
  static const Json none = Json::object();
  const auto at = parameters.find("properties");
  return at != parameters.end() && at->is_object() ? *at : none;
}

bool is_required(const Json& parameters, const std::string& key) {
  const auto required = parameters.find("required");
  if (required == parameters.end() || !required->is_array()) return false;
  return std::ranges::find(*required, Json(key)) != required->end();
}

// A parameter's schema on its own, with the definitions that it may refer to.
Json own_schema(const Json& parameters, const Json& schema) {
  Json own = schema;
  for (const char* name : {"$defs", "definitions"}) {
    if (own.is_object() && parameters.contains(name) && !own.contains(name)) own[name] = parameters[name];
  }
  return own;
}

// The texts that a schema allows by enum or const; empty if it allows others.
std::vector<std::string> allowed_texts(const Json& schema) {
  std::vector<std::string> texts;
  if (!schema.is_object()) return texts;
  Json values = Json::array();
  if (schema.contains("const"))
    values.push_back(schema["const"]);
  else if (schema.contains("enum") && schema["enum"].is_array())
    values = schema["enum"];
  for (const Json& value : values) {
    if (value.is_string()) texts.push_back(value.get<std::string>());
  }
  return texts;
}

class CallExpressions {
 public:
  CallExpressions(GrammarBuilder& builder, const ToolFormat& format, const Json& function)
      : b_(builder),
        format_(format),
        name_(function["name"].get<std::string>()),
        parameters_(function["parameters"]),
        types_(Json::array({{{"function", function}}})) {}

  Result<Expr> call() {
    switch (format_.syntax) {
      case CallSyntax::tags:
        return tag_call();
      case CallSyntax::pythonic:
        return listed_call(name_ + "(", "=", ", ", ")");
      case CallSyntax::gemma:
        return listed_call("call:" + name_ + "{", ":", ",", "}");
      case CallSyntax::mistral:
        return mistral_call();
      case CallSyntax::harmony:
        return b_.json_schema(parameters_);
      case CallSyntax::json:
      case CallSyntax::none:
        break;
    }
    TERRACE_TRY(const Expr arguments, b_.json_schema(parameters_));
    return b_.sequence({b_.plain(bare_call_begin(format_, name_)), arguments, b_.plain("}")});
  }

 private:
  Result<Expr> mistral_call() {
    TERRACE_TRY(const Expr arguments, b_.json_schema(parameters_));
    return b_.sequence({b_.plain(name_), b_.literal("[ARGS]"), arguments});
  }

  Result<Expr> tag_call() {
    std::vector<Expr> parts = {b_.plain("<function=" + name_ + ">\n")};
    for (const auto& [key, schema] : properties_of(parameters_).items()) {
      TERRACE_TRY(const Expr value, tag_value(key, schema));
      const Expr parameter = b_.sequence({b_.plain("<parameter=" + key + ">\n"), value, b_.plain("\n")});
      parts.push_back(is_required(parameters_, key) ? parameter : b_.optional(parameter));
    }
    parts.push_back(b_.plain("</function>"));
    return b_.sequence(std::move(parts));
  }

  // With the tag that ends it.
  Result<Expr> tag_value(const std::string& key, const Json& schema) {
    const Expr end = b_.plain("\n</parameter>");
    const ParameterType type = types_.type_of(name_, key);
    const Expr text = text_value(schema, "", end, "</parameter>");
    if (type == ParameterType::text) return text;
    TERRACE_TRY(const Expr json, b_.json_schema(own_schema(parameters_, schema)));
    const Expr value = b_.sequence({json, end});
    return type == ParameterType::value ? value : b_.choice({value, text});
  }

  // One of the texts that are allowed, or any text up to `end_text`.
  Expr text_value(const Json& schema, const char* begin, Expr end, const char* end_text) {
    const Expr start = b_.literal(begin);
    const std::vector<std::string> texts = allowed_texts(schema);
    if (texts.empty()) return b_.sequence({start, b_.text_until({end_text})});
    std::vector<Expr> alternatives;
    for (const std::string& text : texts) alternatives.push_back(b_.plain(text));
    return b_.sequence({start, b_.choice(alternatives), end});
  }

  Result<Expr> value(const std::string& key, const Json& schema) {
    if (format_.syntax != CallSyntax::gemma) return b_.json_schema(own_schema(parameters_, schema));
    if (types_.type_of(name_, key) == ParameterType::text) return text_value(schema, kMark, b_.literal(kMark), kMark);
    const std::string type = schema.is_object() && schema.contains("type") && schema["type"].is_string()
                                 ? schema["type"].get<std::string>()
                                 : "";
    const bool plain = type == "integer" || type == "number" || type == "boolean" || type == "null";
    return plain ? b_.json_schema(schema) : Result<Expr>(gemma_value());
  }

  // The members in the order of the schema, with separators only between those that are there: for each place one rule
  // for "none so far" and one for "some".
  Result<Expr> listed_call(const std::string& begin, const char* assign, const char* separator, const char* end) {
    std::vector<std::pair<std::string, Json>> members;
    for (const auto& [key, schema] : properties_of(parameters_).items()) members.emplace_back(key, schema);
    Expr none = b_.plain(end), some = none;
    for (size_t i = members.size(); i-- > 0;) {
      const auto& [key, schema] = members[i];
      TERRACE_TRY(const Expr one, value(key, schema));
      const Expr member = b_.make_rule(b_.sequence({b_.plain(key + assign), one}));
      const Expr first = b_.sequence({member, some});
      const Expr next = b_.sequence({b_.plain(separator), member, some});
      const bool required = is_required(parameters_, key);
      none = b_.make_rule(required ? first : b_.choice({first, none}));
      some = b_.make_rule(required ? next : b_.choice({next, some}));
    }
    return b_.sequence({b_.plain(begin), none});
  }

  Expr gemma_value() {
    constexpr const char* rule = "gemma value";
    if (b_.is_defined(rule)) return b_.rule(rule);
    const Expr any = b_.rule(rule);
    const Expr comma = b_.plain(",");
    const auto list = [&](Expr item) {
      return b_.optional(b_.sequence({item, b_.repeat(b_.sequence({comma, item}), 0)}));
    };
    const Expr name = b_.repeat(b_.characters({{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'_', '_'}, {'-', '-'}}), 1);
    b_.define(rule,
              b_.choice({b_.sequence({b_.literal(kMark), b_.text_until({kMark})}),
                         *b_.json_schema(Json{{"type", {"number", "boolean", "null"}}}),
                         b_.sequence({b_.plain("["), list(any), b_.plain("]")}),
                         b_.sequence({b_.plain("{"), list(b_.sequence({name, b_.plain(":"), any})), b_.plain("}")})}));
    return any;
  }

  GrammarBuilder& b_;
  const ToolFormat& format_;
  std::string name_;
  Json parameters_;
  ToolList types_;
};

}  // namespace

std::string bare_call_begin(const ToolFormat& format, const std::string& name) {
  return "{\"name\": " + Json(name).dump() + ", \"" + format.arguments_key + "\": ";
}

Result<Expr> call_expression(GrammarBuilder& builder, const ToolFormat& format, const Json& function) {
  return CallExpressions(builder, format, function).call();
}

}  // namespace terrace::text
