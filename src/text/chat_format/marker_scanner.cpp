#include "text/chat_format/marker_scanner.h"

#include <algorithm>

namespace terrace::text {

bool MarkerScanner::passes(char byte) const {
  return held_.empty() &&
         std::ranges::none_of(marks_, [&](const std::string& mark) { return !mark.empty() && mark[0] == byte; });
}

MarkerScanner::Found MarkerScanner::push(char byte) {
  held_ += byte;
  return settle(false);
}

MarkerScanner::Found MarkerScanner::finish() { return settle(true); }

MarkerScanner::Found MarkerScanner::settle(bool last) {
  Found found;
  while (!held_.empty()) {
    std::optional<size_t> longest;
    bool may_grow = false;
    for (size_t i = 0; i < marks_.size(); ++i) {
      const std::string& mark = marks_[i];
      if (mark.empty()) continue;
      if (held_.starts_with(mark) && (!longest || mark.size() > marks_[*longest].size())) longest = i;
      if (mark.size() > held_.size() && mark.starts_with(held_)) may_grow = true;
    }
    if (may_grow && !last) return found;
    if (longest) {
      found.mark = longest;
      found.rest = held_.substr(marks_[*longest].size());
      held_.clear();
      return found;
    }
    found.text += held_.front();
    held_.erase(0, 1);
  }
  return found;
}

}  // namespace terrace::text
