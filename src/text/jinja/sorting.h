// A stable sort that stays within its vector whatever the order says: templates can compare NaN, and orders can throw.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace terrace::text::jinja {

template <class T, class Less>
void sort_stably(std::vector<T>& items, Less less) {
  std::vector<T> merged;
  for (size_t width = 1; width < items.size(); width *= 2) {
    merged.clear();
    for (size_t start = 0; start < items.size(); start += 2 * width) {
      const size_t middle = std::min(start + width, items.size());
      const size_t end = std::min(start + 2 * width, items.size());
      size_t left = start;
      size_t right = middle;
      while (left < middle || right < end) {
        const bool take_right = left == middle || (right < end && less(items[right], items[left]));
        merged.push_back(std::move(items[take_right ? right++ : left++]));
      }
    }
    items.swap(merged);
  }
}

}  // namespace terrace::text::jinja
