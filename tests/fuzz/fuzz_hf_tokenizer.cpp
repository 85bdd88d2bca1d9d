// Any text as a tokenizer.json and, behind a zero byte, as a tokenizer_config.json: an error, or lists of equal length.
#include <cstdint>
#include <string_view>

#include "tools/convert/tokenizer_files.h"

namespace {

constexpr uint64_t kTokens = 300;

void check(const terrace::Result<terrace::tools::TokenList>& list) {
  if (!list) return;
  const bool equal = list->texts.size() == kTokens && list->types.size() == kTokens &&
                     (list->scores.empty() || list->scores.size() == kTokens);
  if (!equal) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace terrace::tools;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t split = std::min(text.find('\0'), text.size());
  TokenizerFiles files;
  files.where = "tokenizer.json";
  auto tokenizer = terrace::parse_json(text.substr(0, split), files.where);
  if (tokenizer && tokenizer->is_object()) files.tokenizer = *std::move(tokenizer);
  auto settings = terrace::parse_json(text.substr(std::min(split + 1, size)), "tokenizer_config.json");
  if (settings && settings->is_object()) files.settings = *std::move(settings);
  check(read_byte_bpe(files, kTokens));
  check(read_piece_bpe(files, {}, kTokens));
  (void)recognize_pre_tokenizer(files, {});
  const auto config = Config::parse("{}", "config.json");
  terrace::format::GgufMetadata metadata;
  std::vector<std::string> notes;
  (void)write_special_tokens(files, *config, kTokens, metadata, notes);
  return 0;
}
