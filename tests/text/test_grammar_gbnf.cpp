#include <gtest/gtest.h>

#include "grammar_matching.h"
#include "text/grammar/gbnf.h"

namespace terrace::text {
namespace {

struct Case {
  const char* source;
  std::vector<std::string> good, bad;
};

class GbnfMatches : public testing::TestWithParam<Case> {};

TEST_P(GbnfMatches, Texts) {
  const auto grammar = parse_gbnf(GetParam().source);
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  for (const std::string& text : GetParam().good) EXPECT_TRUE(matches(*grammar, text)) << text;
  for (const std::string& text : GetParam().bad) EXPECT_FALSE(matches(*grammar, text)) << text;
}

INSTANTIATE_TEST_SUITE_P(
    All, GbnfMatches,
    testing::Values(
        Case{"root ::= \"a\"", {"a"}, {"", "b", "aa"}}, Case{"root ::= \"\"", {""}, {"a"}},
        Case{"root ::= [a-c] [^a-c]", {"ax", "b\u00E9", "c\n"}, {"xa", "aa", "a"}},
        Case{"root ::= [\\x41-\\x43\\u00e9\\U0001F600] .", {"Ax", "\u00E9\u6B6A", "\U0001F600."}, {"D.", "A"}},
        Case{"root ::= \"\\n\\t\\r\\\\\\\"\\x41\\u00E9\"", {"\n\t\r\\\"A\u00E9"}, {}},
        Case{"root ::= \"a\"* \"b\"+ \"c\"?", {"b", "aabbc", "bc"}, {"a", "aac", "bcc"}},
        Case{"root ::= \"ab\"{2} [x]{1,} (\"y\" | \"z\"){0,2}", {"ababx", "ababxxyz"}, {"abx", "abab", "ababxyyy"}},
        Case{"root ::= \"a\"{,2}", {"", "a", "aa"}, {"aaa"}},
        Case{"root ::= a-1 | b_2\na-1 ::= \"x\" # a comment\n# another\n\nb_2 ::= (\n  \"y\" # inside\n  \"z\"\n)\n",
             {"x", "yz"},
             {"y", "xz"}},
        Case{"root ::= \"a\" |\n  \"b\" |\n  \"c\"\n", {"a", "b", "c"}, {"d"}},
        Case{"root ::= | \"a\"", {"", "a"}, {"b"}},
        Case{"root ::= \"(\" root \")\" | \"x\"", {"x", "((x))"}, {"(x", "()"}},
        Case{"root ::= [-a] [a\\-z] [\\]x] [^\\]]", {"--]x", "azxy"}, {"b-]x", "-b]x"}},
        Case{"root   ::=\n  \"a\"\r\nother ::= \"b\"\r\n", {"a"}, {"b"}},
        Case{"root ::= <think> [a-z]* </think>", {"<think>abc</think>"}, {"<think>"}},
        Case{"root ::= \"a\"?+", {"", "a", "aaa"}, {"b"}}, Case{"root ::= (\"\" \"\"*)* \"a\"", {"a"}, {"", "aa"}},
        // A list written by recursion on the right has no depth.
        Case{"root ::= item root | item\nitem ::= [0-9]+ \",\"", {"1,", "1,22,3,"}, {"", "1"}}));

struct Wrong {
  const char* source;
  const char* message;
};

class GbnfRefuses : public testing::TestWithParam<Wrong> {};

TEST_P(GbnfRefuses, NamingThePlace) {
  const auto grammar = parse_gbnf(GetParam().source);
  ASSERT_FALSE(grammar.ok());
  EXPECT_NE(grammar.error().message.find(GetParam().message), std::string::npos) << grammar.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, GbnfRefuses,
    testing::Values(Wrong{"", "line 1, column 1: there is no rule called 'root'"},
                    Wrong{"answer ::= 'yes'", "line 1, column 12: unexpected ''' in rule 'answer'"},
                    Wrong{"answer ::= \"yes\"", "there is no rule called 'root'"},
                    Wrong{"root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: rule 'root' is defined twice"},
                    Wrong{"root ::= \"a\" missing", "line 1, column 14: rule 'missing' is not defined"},
                    Wrong{"root = \"a\"", "line 1, column 6: expected '::=' after 'root'"},
                    Wrong{"root ::= \"a", "line 1, column 10: this '\"' has no end"},
                    Wrong{"root ::= [a", "line 1, column 10: this '[' has no end"},
                    Wrong{"root ::= [z-a]", "line 1, column 12: this range ends before it begins"},
                    Wrong{"root ::= \"\\q\"", "line 1, column 11: '\\q' is not an escape"},
                    Wrong{"root ::= \"\\x4\"", "needs 2 hexadecimal digits"},
                    Wrong{"root ::= \"\\uD800\"", "U+D800 is not a character"},
                    Wrong{"root ::= \"\\UFFFFFFFF\"", "is not a character"},
                    Wrong{"root ::= (\"a\"", "expected ')' for the '(' at line 1, column 10"},
                    Wrong{"root ::= \"a\")", "unexpected ')'"},
                    Wrong{"root ::= \"a\"{3,2}", "the maximum 2 is below the minimum 3"},
                    Wrong{"root ::= \"a\"{x}", "expected a count"}, Wrong{"root ::= \"a\"{2", "expected '}'"},
                    Wrong{"root ::= \"a\"{99999999999}", "above 100000"},
                    Wrong{"root ::= (((\"a\"{1000}){1000}){1000}){1000}", "too large"},
                    Wrong{"root ::= *", "unexpected '*'"},
                    Wrong{"root ::= root \"a\" | \"a\"", "rule 'root' begins with itself"},
                    Wrong{"root ::= a\na ::= b? a \"x\" | \"y\"\nb ::= \"z\"", "rule 'a' begins with itself"},
                    Wrong{"root ::= \"a\" root", "can ever end"},
                    Wrong{"root ::= <[7]>", "tokens by number are not supported"},
                    Wrong{"root ::= !<a>", "not supported"}, Wrong{"root ::= \"\xFF\"", "not UTF-8"}));

TEST(Gbnf, LimitsDepth) {
  const auto deep = parse_gbnf("root ::= " + std::string(60'000, '(') + "\"a\"" + std::string(60'000, ')'));
  ASSERT_FALSE(deep.ok());
  EXPECT_NE(deep.error().message.find("nest deeper"), std::string::npos);
}

TEST(Gbnf, LongChainsOfRules) {
  std::string source = "root ::= r0\n";
  for (int i = 0; i < 5000; ++i) source += fmt::format("r{} ::= r{}\n", i, i + 1);
  source += "r5000 ::= [a-z]*";
  const auto grammar = parse_gbnf(source);
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  EXPECT_TRUE(matches(*grammar, "abc"));
}

TEST(Gbnf, DoublingRulesStaySmall) {
  std::string source = "root ::= r0 r0 \"x\"\n";
  for (int i = 0; i < 60; ++i) source += fmt::format("r{} ::= r{} r{}\n", i, i + 1, i + 1);
  source += "r60 ::= \"\"";
  const auto grammar = parse_gbnf(source);
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  EXPECT_TRUE(matches(*grammar, "x"));
}

}  // namespace
}  // namespace terrace::text
