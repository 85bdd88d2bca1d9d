#include "tools/convert/json_text.h"

#include "base/file.h"

namespace terrace::tools {
namespace {

constexpr size_t kMaximumDepth = 64;
constexpr size_t kMaximumBytes = size_t{512} << 20;

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view where) {
  size_t depth = 0;
  bool too_deep = false;
  const auto bound_depth = [&](int, Json::parse_event_t event, Json&) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start)
      too_deep |= ++depth > kMaximumDepth;
    if (event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end) --depth;
    return !too_deep;
  };
  Json json = Json::parse(text, bound_depth, /*allow_exceptions=*/false);
  if (too_deep) return fail("{}: more than {} levels of brackets", where, kMaximumDepth);
  if (json.is_discarded()) return fail("{}: not JSON", where);
  return json;
}

Result<Json> read_json(const std::string& path) {
  TERRACE_TRY(const std::string text, read_text(path, kMaximumBytes));
  return parse_json(text, path);
}

std::string json_text(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace terrace::tools
