#include "serve/volatile_lines.h"

#include <fmt/format.h>

#include <array>

namespace terrace::serve {
namespace {

struct Rule {
  std::string_view client;
  std::string_view begins;  ///< of the line
  bool drop;                ///< else the line goes to the end of its message
};

constexpr std::array kRules = {
    Rule{"Claude Code", "x-anthropic-billing-header:", true},
    Rule{"any", "Current time:", false},
    Rule{"any", "Current date and time:", false},
    Rule{"any", "The current time is", false},
    Rule{"any", "Current datetime:", false},
};

/// Further down, a line ends less reuse and is more likely to be somebody's text.
constexpr size_t kTopLines = 8;

void settle(std::string& text, std::vector<std::string>& done) {
  std::string moved;
  size_t begin = 0;
  for (size_t line = 0; line < kTopLines && begin < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view content = std::string_view(text).substr(begin, end - begin);
    const Rule* rule = nullptr;
    for (const Rule& candidate : kRules) {
      if (content.starts_with(candidate.begins)) rule = &candidate;
    }
    if (!rule) {
      begin = end + 1;
      continue;
    }
    done.push_back(fmt::format("the line '{}...' ({}) was {}", rule->begins, rule->client,
                               rule->drop ? "dropped" : "moved to the end"));
    if (!rule->drop) moved += "\n" + std::string(content);
    text.erase(begin, end + 1 - begin);
  }
  text += moved;
}

}  // namespace

std::vector<std::string> settle_volatile_lines(Json& messages) {
  std::vector<std::string> done;
  for (Json& message : messages) {
    const std::string role = message.value("role", "");
    if (role != "system" && role != "developer") continue;
    Json& content = message["content"];
    if (content.is_string()) {
      settle(content.get_ref<std::string&>(), done);
    } else if (content.is_array()) {
      for (Json& part : content) {
        if (part.is_object() && part.contains("text") && part["text"].is_string())
          settle(part["text"].get_ref<std::string&>(), done);
      }
    }
  }
  return done;
}

}  // namespace terrace::serve
