#include "tools/texts.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"

namespace terrace::tools {
namespace {

constexpr size_t kMaximumText = size_t{1} << 30;

}  // namespace

Result<std::vector<Text>> read_texts(const engine::Engine& engine, std::span<const std::string> given, size_t limit) {
  const text::Tokenizer* tokenizer = engine.tokenizer();
  if (!tokenizer) return fail("the model has no vocabulary, so it cannot read texts");
  std::vector<Text> texts;
  for (const std::string& argument : given) {
    const size_t equals = argument.find('=');
    const bool named = equals != std::string::npos && !std::filesystem::exists(argument);
    const std::string path = named ? argument.substr(equals + 1) : argument;
    Text text{named ? argument.substr(0, equals) : std::filesystem::path(path).stem().string(), {}};
    if (std::any_of(texts.begin(), texts.end(), [&](const Text& other) { return other.kind == text.kind; }))
      return fail("two texts are called '{}'; name one of them: OTHER={}", text.kind, path);
    TERRACE_TRY(const std::string bytes, read_text(path, kMaximumText));
    text.tokens = tokenizer->encode(bytes, {.parse_special = true, .add_special = true});
    if (limit > 0 && text.tokens.size() > limit) text.tokens.resize(limit);
    if (text.tokens.size() < 2)
      return fail("{}: the text has {} tokens; at least 2 are needed", path, text.tokens.size());
    texts.push_back(std::move(text));
  }
  return texts;
}

Status check_room(const engine::Engine& engine, std::span<const Text> texts) {
  for (const Text& text : texts) {
    if (text.tokens.size() > engine.context())
      return fail("the text '{}' has {} tokens and the context holds {}; take fewer with --tokens {}", text.kind,
                  text.tokens.size(), engine.context(), engine.context());
  }
  return Done{};
}

}  // namespace terrace::tools
