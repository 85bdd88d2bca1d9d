#include "text/chat_format/tool_list.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

struct Kinds {
  bool text = false;
  bool other = false;
};

void add_type(const Json& type, Kinds& kinds) {
  if (type.is_string()) (type.get_ref<const std::string&>() == "string" ? kinds.text : kinds.other) = true;
}

// One level of alternatives is looked into; what is said deeper, or by reference, may be anything.
void add_kinds(const Json& schema, bool alternatives, Kinds& kinds) {
  if (!schema.is_object()) return;
  const auto type = schema.find("type");
  if (type != schema.end()) {
    if (!type->is_array()) return add_type(*type, kinds);
    for (const Json& one : *type) add_type(one, kinds);
    return;
  }
  const auto values = schema.find("enum");
  if (values != schema.end() && values->is_array()) {
    for (const Json& value : *values) (value.is_string() ? kinds.text : kinds.other) = true;
    return;
  }
  const auto constant = schema.find("const");
  if (constant != schema.end()) {
    (constant->is_string() ? kinds.text : kinds.other) = true;
    return;
  }
  for (const char* name : {"anyOf", "oneOf"}) {
    const auto list = schema.find(name);
    if (list == schema.end() || !list->is_array() || !alternatives) continue;
    for (const Json& one : *list) add_kinds(one, false, kinds);
    return;
  }
  kinds = {true, true};
}

ParameterType parameter_type(const Json& schema) {
  Kinds kinds;
  add_kinds(schema, true, kinds);
  if (!kinds.other) return ParameterType::text;
  return kinds.text ? ParameterType::either : ParameterType::value;
}

}  // namespace

ToolList::ToolList(const Json& tools) {
  if (!tools.is_array()) return;
  for (const Json& tool : tools) {
    if (!tool.is_object()) continue;
    const Json& function = tool.contains("function") ? tool["function"] : tool;
    if (!function.is_object()) continue;
    const auto name = function.find("name");
    if (name == function.end() || !name->is_string()) continue;
    auto& types = functions_[name->get<std::string>()];
    const auto parameters = function.find("parameters");
    if (parameters == function.end() || !parameters->is_object()) continue;
    const auto properties = parameters->find("properties");
    if (properties == parameters->end() || !properties->is_object()) continue;
    for (const auto& [key, schema] : properties->items()) types[key] = parameter_type(schema);
  }
}

ParameterType ToolList::type_of(std::string_view function, std::string_view parameter) const {
  const auto types = functions_.find(std::string(function));
  if (types == functions_.end()) return ParameterType::text;
  const auto type = types->second.find(std::string(parameter));
  return type == types->second.end() ? ParameterType::text : type->second;
}

}  // namespace terrace::text
