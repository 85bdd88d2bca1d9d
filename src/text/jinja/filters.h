// The filters, by name; null where there is none.
#pragma once

#include "text/jinja/interpreter.h"

namespace terrace::text::jinja {

Function find_text_filter(std::string_view name);       ///< of strings
Function find_number_filter(std::string_view name);     ///< of numbers, and general ones
Function find_sequence_filter(std::string_view name);   ///< of lists and dictionaries
Function find_selection_filter(std::string_view name);  ///< map, select, sort and their kin

/// The value at a path like "function.name" or 0 inside `item`, as the filters' `attribute` argument names it.
Value attribute_path(Interpreter& interpreter, const Value& item, const Value& path, const Value* fallback = nullptr);
/// Strings in lower case, all else unchanged.
Value fold_case(const Value& value);

}  // namespace terrace::text::jinja
