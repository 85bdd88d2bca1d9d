#include "text/word_scanner.h"

#include <algorithm>

namespace terrace::text {
namespace {

// The length of a contraction ('s 't 're 've 'm 'll 'd) at the start of `text`, or 0.
size_t contraction(std::string_view text, bool any_case) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  const auto lower = [&](size_t i) {
    const char c = i < text.size() ? text[i] : '\0';
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char first = lower(1);
  const char second = lower(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'r' || first == 'v') && second == 'e') return 3;
  if (first == 'l' && second == 'l') return 3;
  // The long s is an s regardless of case.
  if (any_case && text.substr(1).starts_with("\xC5\xBF")) return 3;
  return 0;
}

}  // namespace

void WordScanner::split(std::string_view text, size_t base, std::vector<size_t>& ends) const {
  if (kind_ == Kind::digits) return split_digits(text, base, ends);
  for (size_t begin = 0; begin < text.size();) {
    begin = kind_ == Kind::gpt2 ? gpt2_end(text, begin) : cl100k_end(text, begin);
    ends.push_back(base + begin);
  }
}

void WordScanner::split_digits(std::string_view text, size_t base, std::vector<size_t>& ends) const {
  size_t gap = 0;
  for (size_t at = 0; at < text.size();) {
    const auto character = classes_.at(text, at);
    if ((character.classes & number) != 0) {
      if (at > gap) ends.push_back(base + at);
      gap = at + character.length;
      ends.push_back(base + gap);
    }
    at += character.length;
  }
  if (gap < text.size()) ends.push_back(base + text.size());
}

size_t WordScanner::skip(std::string_view text, size_t at, uint8_t any_of) const {
  while (at < text.size()) {
    const auto character = classes_.at(text, at);
    if ((character.classes & any_of) == 0) break;
    at += character.length;
  }
  return at;
}

size_t WordScanner::skip_without(std::string_view text, size_t at, uint8_t none_of) const {
  while (at < text.size()) {
    const auto character = classes_.at(text, at);
    if ((character.classes & none_of) != 0) break;
    at += character.length;
  }
  return at;
}

// \s*[\r\n]+ (if lines come first), then \s+(?!\S), then \s+.
size_t WordScanner::end_of_spaces(std::string_view text, size_t begin, bool lines_first) const {
  size_t at = begin;
  size_t last = begin;
  size_t after_newline = begin;
  while (at < text.size()) {
    const auto character = classes_.at(text, at);
    if ((character.classes & space) == 0) break;
    last = at;
    at += character.length;
    if ((character.classes & newline) != 0) after_newline = at;
  }
  if (lines_first && after_newline > begin) return after_newline;
  return at < text.size() && last > begin ? last : at;
}

size_t WordScanner::gpt2_end(std::string_view text, size_t begin) const {
  if (const size_t length = contraction(text.substr(begin), false)) return begin + length;
  size_t at = begin;
  if (text[begin] == ' ' && begin + 1 < text.size()) ++at;
  const uint8_t classes = classes_.at(text, at).classes;
  if ((classes & letter) != 0) return skip(text, at, letter);
  if ((classes & number) != 0) return skip(text, at, number);
  if ((classes & space) == 0) return skip_without(text, at, letter | number | space);
  return end_of_spaces(text, begin, false);
}

size_t WordScanner::cl100k_end(std::string_view text, size_t begin) const {
  if (const size_t length = contraction(text.substr(begin), true)) return begin + length;
  const uint8_t word = kind_ == Kind::qwen35 ? letter | mark : letter;
  const auto first = classes_.at(text, begin);
  const size_t second = begin + first.length;
  const uint8_t second_classes = second < text.size() ? classes_.at(text, second).classes : uint8_t{space};
  if ((first.classes & word) != 0) return skip(text, second, word);
  if ((first.classes & number) != 0) {
    size_t end = second;
    for (int digits = 1; digits < (kind_ == Kind::cl100k ? 3 : 1) && end < text.size(); ++digits) {
      const auto next = classes_.at(text, end);
      if ((next.classes & number) == 0) break;
      end += next.length;
    }
    return end;
  }
  if ((first.classes & newline) == 0 && (second_classes & word) != 0) return skip(text, second, word);
  const uint8_t not_marks = word | number | space;
  const bool spaced = text[begin] == ' ' && (second_classes & not_marks) == 0;
  if (spaced || (first.classes & space) == 0) return skip(text, skip_without(text, second, not_marks), newline);
  return end_of_spaces(text, begin, true);
}

}  // namespace terrace::text
