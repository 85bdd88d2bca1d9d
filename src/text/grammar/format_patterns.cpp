// The formats of JSON Schema's strings as regular expressions.
#include <map>
#include <string>

#include "text/grammar/pattern.h"

namespace terrace::text {
namespace {

using Patterns = std::map<std::string, std::string, std::less<>>;

// RFC 3339, without leap seconds: February 29 only in leap years.
void add_times(Patterns& patterns) {
  const std::string leap_year = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)";
  const std::string date =
      "([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|"
      "02-(0[1-9]|1[0-9]|2[0-8]))|" +
      leap_year + "-02-29)";
  const std::string hour_minute = "([01][0-9]|2[0-3]):[0-5][0-9]";
  const std::string time = hour_minute + ":[0-5][0-9](\\.[0-9]{1,9})?(Z|[+\\-]" + hour_minute + ")";
  patterns["date"] = "^" + date + "$";
  patterns["time"] = "^" + time + "$";
  patterns["date-time"] = "^" + date + "T" + time + "$";

  const std::string n = "[0-9]{1,9}";
  const std::string clock = "T(" + n + "H(" + n + "M(" + n + "S)?)?|" + n + "M(" + n + "S)?|" + n + "S)";
  const std::string days = "(" + n + "Y(" + n + "M(" + n + "D)?)?|" + n + "M(" + n + "D)?|" + n + "D)";
  patterns["duration"] = "^P(" + n + "W|" + days + "(" + clock + ")?|" + clock + ")$";
}

// RFC 3986, appendix A.
std::string ipv6(const std::string& ipv4) {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const auto groups = [&](int count) { return "(" + group + ":){" + std::to_string(count) + "}"; };
  const std::string last = "(" + group + ":" + group + "|" + ipv4 + ")";
  std::string pattern = "(" + groups(6) + last + "|::" + groups(5) + last;
  for (int before = 1; before <= 7; ++before) {
    pattern += "|((" + group + ":){0," + std::to_string(before - 1) + "}" + group + ")?::";
    if (before <= 5) pattern += groups(5 - before) + last;
    if (before == 6) pattern += group;
  }
  return pattern + ")";
}

// Names are shorter than these patterns allow: 255 bytes together.
void add_addresses(Patterns& patterns) {
  const std::string byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  const std::string v4 = byte + "(\\." + byte + "){3}", v6 = ipv6(v4);
  const std::string label = "[0-9A-Za-z]([0-9A-Za-z\\-]{0,61}[0-9A-Za-z])?";
  const std::string host = label + "(\\." + label + ")*";
  const std::string atom = "[0-9A-Za-z!#$%&'*+\\/=?^_`{|}~\\-]+";
  patterns["ipv4"] = "^" + v4 + "$";
  patterns["ipv6"] = "^" + v6 + "$";
  patterns["hostname"] = "^" + host + "$";
  patterns["email"] = "^" + atom + "(\\." + atom + ")*@" + host + "$";

  const std::string sign = "[0-9A-Za-z\\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2}";
  const std::string path_sign = "(" + sign + "|[:@])", query_sign = "(" + sign + "|[:@\\/?])";
  const std::string authority = "((" + sign + "|:)*@)?(\\[" + v6 + "\\]|(" + sign + ")*)(:[0-9]*)?";
  const std::string more_path = "(\\/" + path_sign + "*)*";
  patterns["uri"] = "^[A-Za-z][0-9A-Za-z+\\-.]*:(\\/\\/" + authority + more_path + "|\\/?(" + path_sign + "+" +
                    more_path + ")?)(\\?" + query_sign + "*)?(#" + query_sign + "*)?$";
}

Patterns all_patterns() {
  Patterns patterns;
  add_times(patterns);
  add_addresses(patterns);
  patterns["uuid"] = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$";
  patterns["json-pointer"] = "^(\\/([^\\/~]|~[01])*)*$";
  patterns["password"] = "";  // says how to show it, not what it is
  return patterns;
}

}  // namespace

std::optional<std::string_view> format_pattern(std::string_view format) {
  static const Patterns patterns = all_patterns();
  const auto found = patterns.find(format);
  return found == patterns.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

}  // namespace terrace::text
