#include "base/json.h"

namespace terrace {
namespace {

constexpr size_t kMaximumDepth = 128;

/// The library's message without its own codes.
std::string_view cause(std::string_view what) {
  const size_t end = what.find("] ");
  return end == std::string_view::npos ? what : what.substr(end + 2);
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view where) {
  const std::string_view colon = where.empty() ? "" : ": ";
  size_t depth = 0;
  bool too_deep = false;
  const auto bound_depth = [&](int, Json::parse_event_t event, Json&) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start)
      too_deep |= ++depth > kMaximumDepth;
    if (event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end) --depth;
    return !too_deep;
  };
  try {
    Json json = Json::parse(text, bound_depth);
    if (!too_deep) return json;
  } catch (const Json::exception& error) {
    if (!too_deep) return fail("{}{}not JSON: {}", where, colon, cause(error.what()));
  }
  return fail("{}{}more than {} levels of brackets", where, colon, kMaximumDepth);
}

}  // namespace terrace
