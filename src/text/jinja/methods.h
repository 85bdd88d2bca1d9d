// The methods of the types, by name; null where there is none.
#pragma once

#include "text/jinja/interpreter.h"

namespace terrace::text::jinja {

Function find_text_method(std::string_view name);  ///< those of strings that change case, trim, fill and classify
Function find_dict_method(std::string_view name);
Function find_list_method(const Value& self, std::string_view name);

}  // namespace terrace::text::jinja
