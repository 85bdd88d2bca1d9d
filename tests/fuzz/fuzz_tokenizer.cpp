// Any bytes as text, for one vocabulary of each kind; the first byte chooses the options.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "../text/small_vocabularies.h"
#include "text/detokenizer.h"
#include "text/unicode.h"

namespace {

using namespace terrace::text;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options, bool exact) {
  const auto ids = tokenizer.encode(text, options);
  for (const int32_t id : ids) require(tokenizer.is_token(id));
  const std::string decoded = tokenizer.decode(ids, true);
  if (exact && !options.add_special) require(decoded == text);
  StreamDecoder decoder(tokenizer, {.specials = true});
  std::string streamed;
  for (const int32_t id : ids) streamed += decoder.push(id);
  require(streamed + decoder.finish() == utf8_lossy(decoded));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto byte_level = small::make(small::byte_level());
  static const auto normalized = small::make([] {
    Vocabulary vocabulary = small::byte_level();
    vocabulary.pre = "qwen35";
    return vocabulary;
  }());
  static const auto sentencepiece = small::make(small::sentencepiece());
  static const auto unigram = small::make(small::unigram());
  if (size == 0) return 0;
  const EncodeOptions options{.parse_special = (data[0] & 1) != 0, .add_special = (data[0] & 2) != 0};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  check(*byte_level, text, options, true);
  check(*normalized, text, options, utf8_valid_prefix(text) == text.size() && !may_need_nfc(text));
  check(*sentencepiece, text, options, text.find("\xE2\x96\x81") == std::string_view::npos);
  check(*unigram, text, options, false);
  return 0;
}
