#include "text/char_class.h"

#include <utf8proc.h>

#include <vector>

namespace terrace::text {
namespace {

bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

uint8_t classes_of(uint32_t c) {
  uint8_t classes = other;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      classes = letter;
      break;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      classes = number;
      break;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      classes = mark;
      break;
    default:
      break;
  }
  if (is_space(c)) classes = space;
  if (c == '\r' || c == '\n') classes = space | newline;
  return classes;
}

}  // namespace

const uint8_t* CharClasses::shared_table() {
  static const std::vector<uint8_t> table = [] {
    std::vector<uint8_t> classes(0x110000);
    for (uint32_t c = 0; c < classes.size(); ++c) classes[c] = classes_of(c);
    return classes;
  }();
  return table.data();
}

}  // namespace terrace::text
