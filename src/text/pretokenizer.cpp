#include "text/pretokenizer.h"

#include <algorithm>
#include <optional>
#include <string>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/pretokenizer_table.h"
#include "text/word_scanner.h"

namespace terrace::text {

class PreTokenizer::Step {
 public:
  virtual ~Step() = default;
  /// Appends base + the ends of the pieces of `text`.
  virtual void split(std::string_view text, size_t base, std::vector<size_t>& ends) const = 0;
};

namespace {

// \s as Oniguruma and Unicode have it; PCRE2's own contains U+180E as well.
constexpr std::string_view white_space =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

std::string with_reference_spaces(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char kind = pattern[++i];
      if (kind == 's' && in_class) {
        out.append(white_space);
      } else if (kind == 's' || kind == 'S') {
        out.append(kind == 's' ? "[" : "[^").append(white_space).append("]");
      } else {
        out.append({c, kind});
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out.push_back(c);
  }
  return out;
}

using Code = std::unique_ptr<pcre2_code, decltype([](pcre2_code* code) { pcre2_code_free(code); })>;
using MatchData =
    std::unique_ptr<pcre2_match_data, decltype([](pcre2_match_data* data) { pcre2_match_data_free(data); })>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<uint8_t>(c) >= 0xC3;
}

Code compile(std::string_view pattern) {
  const std::string text = with_reference_spaces(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_UTF | PCRE2_UCP, &error,
                          &offset, nullptr));
  if (code) pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return code;
}

std::optional<WordScanner::Kind> scanner_for(std::string_view pattern) {
  if (pattern == single_digits) return WordScanner::Kind::digits;
  if (pattern == gpt2_words) return WordScanner::Kind::gpt2;
  if (pattern == llama3_words) return WordScanner::Kind::cl100k;
  if (pattern == qwen2_words) return WordScanner::Kind::qwen2;
  if (pattern == qwen35_words) return WordScanner::Kind::qwen35;
  return std::nullopt;
}

void split_by(const pcre2_code* code, std::string_view text, size_t base, std::vector<size_t>& ends) {
  const MatchData data(pcre2_match_data_create_from_pattern(code, nullptr));
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data.get());
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t position = 0;
  while (position < text.size()) {
    int found = pcre2_jit_match(code, subject, text.size(), position, PCRE2_NO_UTF_CHECK, data.get(), nullptr);
    // Without JIT support, or out of the JIT's stack: the interpreter keeps its state on the heap.
    if (found < 0 && found != PCRE2_ERROR_NOMATCH)
      found = pcre2_match(code, subject, text.size(), position, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data.get(), nullptr);
    if (found < 0 || bounds[1] == bounds[0]) break;
    if (bounds[0] > position) ends.push_back(base + bounds[0]);
    ends.push_back(base + bounds[1]);
    position = bounds[1];
  }
  if (position < text.size()) ends.push_back(base + text.size());
}

void split_digit_groups(bool at_word_end, std::string_view text, size_t base, std::vector<size_t>& ends) {
  size_t gap = 0;
  for (size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (!at_word_end || end == text.size() || !is_word(text[end])) {
      if (i > gap) ends.push_back(base + i);
      for (size_t group = i + ((end - i) % 3 ? (end - i) % 3 : 3); group <= end; group += 3)
        ends.push_back(base + group);
      gap = end;
    }
    i = end;
  }
  if (gap < text.size()) ends.push_back(base + text.size());
}

}  // namespace

PreTokenizer::PreTokenizer() = default;
PreTokenizer::~PreTokenizer() = default;

Result<std::unique_ptr<const PreTokenizer>> PreTokenizer::create(std::string_view name, Engine engine) {
  class PatternStep final : public Step {
   public:
    explicit PatternStep(Code code) : code_(std::move(code)) {}
    void split(std::string_view text, size_t base, std::vector<size_t>& ends) const override {
      split_by(code_.get(), text, base, ends);
    }

   private:
    Code code_;
  };
  class ScannerStep final : public Step {
   public:
    explicit ScannerStep(WordScanner::Kind kind) : scanner_(kind) {}
    void split(std::string_view text, size_t base, std::vector<size_t>& ends) const override {
      scanner_.split(text, base, ends);
    }

   private:
    WordScanner scanner_;
  };
  class DigitStep final : public Step {
   public:
    explicit DigitStep(bool at_word_end) : at_word_end_(at_word_end) {}
    void split(std::string_view text, size_t base, std::vector<size_t>& ends) const override {
      split_digit_groups(at_word_end_, text, base, ends);
    }

   private:
    bool at_word_end_;
  };

  const PreTokenizerEntry* entry = find_pre_tokenizer(name);
  if (!entry) return fail("the pre-tokenizer '{}' (tokenizer.ggml.pre) is not known", name);
  std::unique_ptr<PreTokenizer> out(new PreTokenizer);
  out->whole_words_ = entry->whole_words;
  out->normalizes_ = entry->normalizes;
  for (const std::string_view step : entry->steps) {
    if (step == digit_groups || step == digit_groups_at_word_end) {
      out->steps_.push_back(std::make_unique<DigitStep>(step == digit_groups_at_word_end));
      continue;
    }
    if (const auto kind = scanner_for(step); kind && engine == Engine::fastest) {
      out->steps_.push_back(std::make_unique<ScannerStep>(*kind));
      continue;
    }
    Code code = compile(step);
    if (!code) return fail("the expression of the pre-tokenizer '{}' does not compile: {}", name, step);
    out->steps_.push_back(std::make_unique<PatternStep>(std::move(code)));
  }
  return std::unique_ptr<const PreTokenizer>(std::move(out));
}

std::vector<size_t> PreTokenizer::split(std::string_view text) const {
  std::vector<size_t> ends;
  if (text.empty()) return ends;
  ends.reserve(text.size() / 4 + 1);
  steps_[0]->split(text, 0, ends);
  std::vector<size_t> finer;
  for (size_t i = 1; i < steps_.size(); ++i) {
    finer.clear();
    size_t begin = 0;
    for (const size_t end : ends) {
      steps_[i]->split(text.substr(begin, end - begin), begin, finer);
      begin = end;
    }
    ends.swap(finer);
  }
  return ends;
}

}  // namespace terrace::text
