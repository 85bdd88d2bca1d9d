#include "text/jinja/wrap.h"

#include <algorithm>

#include "text/jinja/utf8.h"

namespace terrace::text::jinja {
namespace {

// textwrap knows ASCII white space only.
bool is_gap(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_letter(std::string_view text, size_t at) {
  if (at >= text.size()) return false;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return utf8::is_alpha(utf8::decode(text.substr(at)).code);
}

// Splits a word after each hyphen that stands between two letters on either side.
void split_hyphens(std::string_view word, std::vector<std::string_view>& chunks) {
  size_t start = 0;
  for (size_t i = 2; i + 1 < word.size(); ++i) {
    if (word[i] != '-' || !is_letter(word, i - 1) || !is_letter(word, i - 2) || !is_letter(word, i + 1)) continue;
    if (!is_letter(word, i + 1 + utf8::decode(word.substr(i + 1)).size)) continue;
    chunks.push_back(word.substr(start, i + 1 - start));
    start = i + 1;
  }
  chunks.push_back(word.substr(start));
}

std::vector<std::string_view> split_chunks(std::string_view line, bool break_on_hyphens) {
  std::vector<std::string_view> chunks;
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    while (end < line.size() && is_gap(line[end]) == is_gap(line[at])) ++end;
    const auto chunk = line.substr(at, end - at);
    if (break_on_hyphens && !is_gap(line[at])) {
      split_hyphens(chunk, chunks);
    } else {
      chunks.push_back(chunk);
    }
    at = end;
  }
  return chunks;
}

bool is_blank(std::string_view chunk) { return std::all_of(chunk.begin(), chunk.end(), is_gap); }

}  // namespace

std::vector<std::string> wrap_line(std::string_view line, size_t width, bool break_long_words, bool break_on_hyphens) {
  std::vector<std::string_view> chunks = split_chunks(line, break_on_hyphens);
  std::vector<std::string> lines;
  size_t at = 0;
  while (at < chunks.size()) {
    std::vector<std::string_view> row;
    size_t used = 0;
    if (!lines.empty() && is_blank(chunks[at])) ++at;
    while (at < chunks.size() && used + utf8::length(chunks[at]) <= width) {
      used += utf8::length(chunks[at]);
      row.push_back(chunks[at++]);
    }
    if (at < chunks.size() && utf8::length(chunks[at]) > width) {
      if (break_long_words) {
        const auto offsets = utf8::offsets(chunks[at]);
        const size_t cut = offsets[width - used];
        row.push_back(chunks[at].substr(0, cut));
        chunks[at].remove_prefix(cut);
      } else if (row.empty()) {
        row.push_back(chunks[at++]);
      }
    }
    if (!row.empty() && is_blank(row.back())) row.pop_back();
    if (row.empty()) continue;
    std::string text;
    for (const auto chunk : row) text += chunk;
    lines.push_back(std::move(text));
  }
  return lines;
}

}  // namespace terrace::text::jinja
