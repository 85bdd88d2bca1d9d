// Lines that change with every request do not end the reuse of what follows them.
#include <gtest/gtest.h>

#include "serve/volatile_lines.h"

namespace terrace::serve {
namespace {

Json settled(Json messages) {
  settle_volatile_lines(messages);
  return messages;
}

TEST(VolatileLines, AttributionHeadersGo) {
  Json noted = {{{"role", "system"}, {"content", "x-anthropic-billing-header: cch=1;\nCurrent time: 1\nYou help."}}};
  EXPECT_EQ(settle_volatile_lines(noted).size(), 2u);
  const Json one = settled({{{"role", "system"}, {"content", "x-anthropic-billing-header: cch=1;\nYou help."}}});
  EXPECT_EQ(one[0]["content"], "You help.");
  const Json parts = settled({{{"role", "system"},
                               {"content",
                                {{{"type", "text"}, {"text", "x-anthropic-billing-header: cch=2;"}},
                                 {{"type", "text"}, {"text", "You help."}}}}}});
  EXPECT_EQ(parts[0]["content"][0]["text"], "");
  EXPECT_EQ(parts[0]["content"][1]["text"], "You help.");
}

TEST(VolatileLines, ClocksGoToTheEnd) {
  const Json messages = settled({{{"role", "system"}, {"content", "You help.\nCurrent time: 12:00\nBe brief."}}});
  EXPECT_EQ(messages[0]["content"], "You help.\nBe brief.\nCurrent time: 12:00");
}

TEST(VolatileLines, RulesCanBeSwitchedOff) {
  EXPECT_EQ(volatile_line_rules(), (std::vector<std::string>{"claude-code-billing", "clock"}));
  const Json before = {{{"role", "system"}, {"content", "x-anthropic-billing-header: 1\nCurrent time: 1\nYou help."}}};
  Json messages = before;
  EXPECT_EQ(settle_volatile_lines(messages, {"clock"}).size(), 1u);
  EXPECT_EQ(messages[0]["content"], "Current time: 1\nYou help.");
  messages = before;
  EXPECT_TRUE(settle_volatile_lines(messages, {"clock", "claude-code-billing"}).empty());
  EXPECT_EQ(messages, before);
}

TEST(VolatileLines, OtherTextStays) {
  const std::string far = "1\n2\n3\n4\n5\n6\n7\n8\n9\nCurrent time: 12:00\n";
  for (const Json& message :
       {Json{{"role", "user"}, {"content", "Current time: 12:00\nx"}}, Json{{"role", "system"}, {"content", far}},
        Json{{"role", "system"}, {"content", ""}}, Json{{"role", "system"}, {"content", nullptr}},
        Json{{"role", "system"}, {"content", 5}}, Json{{"role", "system"}, {"content", "The Current time: x"}}}) {
    EXPECT_EQ(settled(Json::array({message})), Json::array({message}));
  }
}

}  // namespace
}  // namespace terrace::serve
