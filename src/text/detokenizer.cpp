#include "text/detokenizer.h"

#include "text/unicode.h"

namespace terrace::text {

std::string StreamDecoder::push(int32_t id) {
  held_.append(tokenizer_->piece(id, options_.specials, begins_));
  std::string_view rest = held_;
  std::string out;
  while (!rest.empty()) {
    const size_t valid = utf8_valid_prefix(rest);
    out.append(rest.substr(0, valid));
    rest.remove_prefix(valid);
    if (rest.empty()) break;
    const Utf8Step step = utf8_step(rest);
    if (step.kind == Utf8Step::Kind::truncated) break;
    out.append("\xEF\xBF\xBD");
    rest.remove_prefix(step.length);
  }
  held_.erase(0, held_.size() - rest.size());
  return out;
}

std::string StreamDecoder::finish() {
  const std::string out = utf8_lossy(held_);
  held_.clear();
  begins_ = !options_.continues;
  return out;
}

}  // namespace terrace::text
