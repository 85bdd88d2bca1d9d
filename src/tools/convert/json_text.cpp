#include "tools/convert/json_text.h"

#include "base/file.h"

namespace terrace::tools {
namespace {

constexpr size_t kMaximumBytes = size_t{512} << 20;

}  // namespace

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
