#include "serve/volatile_lines.h"

#include <fmt/format.h>

#include <array>

namespace terrace::serve {
namespace {

struct Rule {
  std::string_view name;
  std::string_view begins;  ///< of the line
  bool drop;                ///< else the line goes to the end of its message
};

constexpr std::array kRules = {
    Rule{"claude-code-billing", "x-anthropic-billing-header:", true},
    Rule{"clock", "Current time:", false},
    Rule{"clock", "Current date and time:", false},
    Rule{"clock", "The current time is", false},
    Rule{"clock", "Current datetime:", false},
};

/// Further down, a line ends less reuse and is more likely to be somebody's text.
constexpr size_t kTopLines = 8;

void settle(std::string& text, const std::set<std::string>& keep, std::vector<std::string>& done) {
  std::string moved;
  size_t begin = 0;
  for (size_t line = 0; line < kTopLines && begin < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view content = std::string_view(text).substr(begin, end - begin);
    const Rule* rule = nullptr;
    for (const Rule& candidate : kRules) {
      if (content.starts_with(candidate.begins) && !keep.contains(std::string(candidate.name))) rule = &candidate;
    }
    if (!rule) {
      begin = end + 1;
      continue;
    }
    done.push_back(fmt::format("a line '{}...' of the system prompt was {} (rule {})", rule->begins,
                               rule->drop ? "dropped" : "moved to its end", rule->name));
    if (!rule->drop) moved += "\n" + std::string(content);
    text.erase(begin, end + 1 - begin);
  }
  text += moved;
}

}  // namespace

std::vector<std::string> volatile_line_rules() {
  std::set<std::string> names;
  for (const Rule& rule : kRules) names.emplace(rule.name);
  return {names.begin(), names.end()};
}

std::vector<std::string> settle_volatile_lines(Json& messages, const std::set<std::string>& keep) {
  std::vector<std::string> done;
  for (Json& message : messages) {
    const std::string role = message.value("role", "");
    if (role != "system" && role != "developer") continue;
    Json& content = message["content"];
    if (content.is_string()) {
      settle(content.get_ref<std::string&>(), keep, done);
    } else if (content.is_array()) {
      for (Json& part : content) {
        if (part.is_object() && part.contains("text") && part["text"].is_string())
          settle(part["text"].get_ref<std::string&>(), keep, done);
      }
    }
  }
  return done;
}

}  // namespace terrace::serve
