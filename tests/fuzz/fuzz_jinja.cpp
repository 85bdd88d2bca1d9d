// Any bytes as a template: an error or a text, within the limits, and never a crash.
#include <cstddef>
#include <cstdint>
#include <string>

#include "text/jinja/template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using terrace::text::jinja::RenderOptions;
  using terrace::text::jinja::Template;
  static const auto context = nlohmann::ordered_json::parse(R"({
    "messages": [{"role": "user", "content": "Größe 歪"}, {"role": "assistant", "content": "x", "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, 2.5, null, true]}}}]}],
    "tools": [{"type": "function", "function": {"name": "f"}}], "n": 7, "f": -2.5, "s": "Hello World\n two", "l": [3, 1, 2], "w": ["b", "A"], "d": {"b": 1, "a": 2}, "e": "", "no": false})");
  const auto parsed = Template::parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!parsed) return 0;
  RenderOptions options;
  options.limits.output_bytes = 1 << 16;
  options.limits.work_bytes = 1 << 22;
  options.limits.steps = 20'000;
  const auto text = parsed->render(context, options);
  return text && text->size() > options.limits.output_bytes ? __builtin_trap(), 0 : 0;
}
