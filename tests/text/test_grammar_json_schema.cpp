// JSON Schemas: values that must be possible, values that must not be, and schemas that must be refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "grammar_matching.h"
#include "text/grammar/json_schema.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

struct Case {
  const char* schema;
  std::vector<const char*> good, bad;
};

void PrintTo(const Case& tested, std::ostream* out) { *out << tested.schema; }

class JsonSchema : public testing::TestWithParam<Case> {};

TEST_P(JsonSchema, Values) {
  const auto grammar = json_schema_grammar(Json::parse(GetParam().schema));
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  for (const char* text : GetParam().good) EXPECT_TRUE(matches(*grammar, text)) << text;
  for (const char* text : GetParam().bad) EXPECT_FALSE(matches(*grammar, text)) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Types, JsonSchema,
    testing::Values(
        Case{"true", {"1", "\"a\"", "null", "[]", "{\"a\":[{}]}"}, {"", "a", "[1,]", "{a:1}"}},
        Case{"{}", {"[1, 2]", "{\"a\": \"\\u00e9\"}"}, {"[1 ,2]"}},
        Case{R"({"title":"t","description":"d","default":1,"examples":[1],"$comment":"c"})", {"null", "2"}, {"x"}},
        Case{R"({"type":"null"})", {"null"}, {"0", "false", ""}},
        Case{R"({"type":"boolean"})", {"true", "false"}, {"0", "\"true\"", "null"}},
        Case{R"({"type":"integer"})", {"0", "-1", "12", "12345678901234567890"}, {"01", "1.0", "+1", "-", "1e3"}},
        Case{R"({"type":"number"})", {"0", "-1.5", "1e3", "1.25E-10", "-0"}, {"01", ".5", "1.", "NaN", "Infinity"}},
        Case{R"({"type":"string"})",
             {R"("")", R"("a\"b")", R"("\u00E9\ud83d\ude00")", "\"\u6B6A\U0001F600\""},
             {R"(")", R"("\x")", R"("\ud83d")", R"("\ude00")", "\"\n\"", "'a'", R"("\u12")"}},
        Case{R"({"type":"object"})",
             {"{}", "{ }", R"({"a":1})", "{\n  \"a\": {\"b\": []},\n  \"c\": 1\n}"},
             {"[]", "{,}"}},
        Case{R"({"type":"array"})", {"[]", "[ ]", "[1,\"a\",[null]]"}, {"{}", "[,]", "[1 2]"}},
        Case{R"({"type":["string","null"]})", {"\"a\"", "null"}, {"1", "true"}},
        Case{R"({"type":"string","nullable":true})", {"\"a\"", "null"}, {"1"}},
        Case{R"({"type":["number","integer"]})", {"1.5", "2"}, {"\"\""}},
        Case{R"({"enum":["a",1,null,{"b":[1,2]}]})",
             {"\"a\"", "1", "null", "{\"b\":[1,2]}", "{\"b\": [1, 2]}"},
             {"\"b\"", "2", "{}"}},
        Case{R"({"type":"string","enum":["a",1]})", {"\"a\""}, {"1"}},
        Case{R"({"const":"x\n\"y"})", {R"("x\n\"y")", R"("x\u000a\"y")"}, {"\"x\"", "\"xn\""}},
        Case{R"({"const":false})", {"false"}, {"true", "null"}}));

INSTANTIATE_TEST_SUITE_P(
    Objects, JsonSchema,
    testing::Values(
        Case{
            R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"],"additionalProperties":false})",
            {R"({"a":1,"b":"x"})", R"({ "a": 1, "b": "x" })", "{\n  \"a\": 1,\n  \"b\": \"x\"\n}"},
            {"{}", R"({"a":1})", R"({"b":"x","a":1})", R"({"a":1,"b":"x","c":1})", R"({"a":"1","b":"x"})",
             R"({"a":1,"b":"x",})", "{\n\n\"a\":1,\"b\":\"x\"}", R"({  "a":1,"b":"x"})"}},
        Case{R"({"properties":{"a":{},"b":{},"c":{}}})",
             {"{}", R"({"a":1})", R"({"b":1})", R"({"c":1})", R"({"a":1,"c":1})", R"({"a":1,"b":2,"c":3})"},
             {R"({"c":1,"a":1})", R"({"d":1})", R"({,"a":1})", R"({"a":1"b":1})", "1"}},
        Case{R"({"properties":{"a":{},"b":{},"c":{}},"required":["b"]})",
             {R"({"b":1})", R"({"a":1,"b":1})", R"({"b":1,"c":1})"},
             {"{}", R"({"a":1})", R"({"a":1,"c":1})"}},
        Case{R"({"type":"object","properties":{},"additionalProperties":false})", {"{}", "{ }"}, {R"({"a":1})"}},
        Case{R"({"type":"object","properties":{}})", {"{}"}, {R"({"a":1})"}},
        Case{R"({"type":"object","additionalProperties":{"type":"integer"}})",
             {"{}", R"({"a":1})", R"({"a":1, "b":2})"},
             {R"({"a":"x"})", R"({"a":1,})"}},
        Case{R"({"type":"object","properties":{"ab":{"type":"integer"}},"additionalProperties":{"type":"string"}})",
             {"{}", R"({"ab":1})", R"({"ab":1,"x":"y"})", R"({"a":"y","abc":"z","":""})", R"({"ac":"y"})",
              R"({"\n":"y"})"},
             {R"({"ab":"x"})", R"({"x":1})", R"({"x":"y","ab":"z"})", R"({"\u0061b":"z"})"}},
        Case{R"({"type":"object","required":["a"]})", {R"({"a":1})", R"({"a":1,"b":2})"}, {"{}", R"({"b":1})"}},
        Case{R"({"type":"object","properties":{"a":{}},"required":["z"],"additionalProperties":true})",
             {R"({"a":1,"z":2})", R"({"z":2,"y":3})"},
             {R"({"a":1})"}},
        Case{R"({"type":"object","minProperties":1,"maxProperties":2})",
             {R"({"a":1})", R"({"a":1,"b":2})"},
             {"{}", R"({"a":1,"b":2,"c":3})"}},
        Case{
            R"({"properties":{"a":{},"b":{},"c":{}},"minProperties":1,"maxProperties":2,"additionalProperties":false})",
            {R"({"a":1})", R"({"c":1})", R"({"a":1,"c":2})"},
            {"{}", R"({"a":1,"b":2,"c":3})"}},
        Case{R"({"type":"object","propertyNames":{"pattern":"^[a-z]+$"},"additionalProperties":{"type":"null"}})",
             {"{}", R"({"abc":null})"},
             {R"({"A":null})", R"({"a":1})"}},
        Case{R"({"properties":{"a":false,"b":true}})", {"{}", R"({"b":1})"}, {R"({"a":1})"}},
        Case{R"({"properties":{"\"q\"":{"type":"null"}},"required":["\"q\""]})", {R"({"\"q\"":null})"}, {"{}"}},
        Case{
            R"({"type":"object","properties":{"o":{"type":"object","properties":{"p":{"type":"array","items":{"type":"object","properties":{"q":{"type":"boolean"}},"required":["q"]}}},"required":["p"]}},"required":["o"]})",
            {R"({"o":{"p":[]}})", R"({"o":{"p":[{"q":true},{"q":false}]}})"},
            {R"({"o":{"p":[{}]}})", R"({"o":{}})"}}));

INSTANTIATE_TEST_SUITE_P(
    Arrays, JsonSchema,
    testing::Values(
        Case{R"({"type":"array","items":{"type":"integer"}})", {"[]", "[1]", "[1,2]", "[ 1, 2 ]"}, {"[\"a\"]", "[1,]"}},
        Case{R"({"items":{"type":"integer"},"minItems":2,"maxItems":3})",
             {"[1,2]", "[1,2,3]"},
             {"[]", "[1]", "[1,2,3,4]"}},
        Case{R"({"type":"array","minItems":1})", {"[1]", "[1,2,3]"}, {"[]"}},
        Case{R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
        Case{R"({"type":"array","maxItems":1})", {"[]", "[1]"}, {"[1,2]"}},
        Case{R"({"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})",
             {"[]", "[1]", "[1,\"a\"]"},
             {"[\"a\"]", "[1,\"a\",2]"}},
        Case{R"({"prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"null"},"minItems":2})",
             {"[1,\"a\"]", "[1,\"a\",null,null]"},
             {"[1]", "[1,\"a\",1]"}},
        Case{R"({"prefixItems":[{"type":"integer"}]})", {"[]", "[1]", "[1,\"x\"]"}, {"[\"x\"]"}},
        Case{R"({"prefixItems":[{"type":"integer"},{"type":"null"}],"minItems":2,"maxItems":2})",
             {"[1,null]"},
             {"[1]", "[1,null,1]"}},
        Case{R"({"items":[{"type":"integer"}],"additionalItems":{"type":"string"}})", {"[1,\"a\"]"}, {"[1,2]"}},
        Case{R"({"type":"array","items":{"type":"integer"},"uniqueItems":false})", {"[1,1]"}, {"[null]"}}));

INSTANTIATE_TEST_SUITE_P(
    Joined, JsonSchema,
    testing::Values(
        Case{R"({"anyOf":[{"type":"integer"},{"type":"string"}]})", {"1", "\"a\""}, {"null"}},
        Case{R"({"oneOf":[{"type":"integer"},{"const":"a"}]})", {"1", "\"a\""}, {"\"b\""}},
        Case{R"({"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]})",
             {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"},
             {"{}"}},
        Case{
            R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]})",
            {R"({"a":1,"b":"x"})"},
            {R"({"a":1})", R"({"b":"x"})"}},
        Case{R"({"allOf":[{"minimum":2},{"maximum":4}],"type":"integer"})", {"2", "3", "4"}, {"1", "5"}},
        Case{
            R"({"allOf":[{"type":["integer","null"]},{"type":["number","string"]}]})", {"1"}, {"null", "\"a\"", "1.5"}},
        Case{R"({"allOf":[{"enum":[1,2,3]},{"enum":[2,3,4]}]})", {"2", "3"}, {"1", "4"}},
        Case{
            R"({"allOf":[{"properties":{"a":{"minimum":1}}},{"properties":{"a":{"type":"integer"}}}],"required":["a"]})",
            {R"({"a":1})"},
            {R"({"a":0})", R"({"a":"x"})"}},
        Case{R"({"$defs":{"A":{"type":"integer"}},"$ref":"#/$defs/A"})", {"1"}, {"\"a\""}},
        Case{
            R"({"definitions":{"a/b":{"type":"null"},"c%d":{"type":"boolean"}},"items":{"anyOf":[{"$ref":"#/definitions/a~1b"},{"$ref":"#/definitions/c%25d"}]}})",
            {"[null,true]"},
            {"[1]"}},
        Case{
            R"({"$defs":{"A":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/A","description":"d"},"b":{"$ref":"#/$defs/A","minimum":5}}})",
            {R"({"a":1,"b":5})"},
            {R"({"b":1})"}},
        // A tree, and a list that ends in null.
        Case{
            R"({"type":"object","properties":{"v":{"type":"integer"},"c":{"type":"array","items":{"$ref":"#"}}},"required":["v","c"],"additionalProperties":false})",
            {R"({"v":1,"c":[]})", R"({"v":1,"c":[{"v":2,"c":[{"v":3,"c":[]}]}]})"},
            {R"({"v":1,"c":[1]})"}},
        Case{
            R"({"$defs":{"N":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/N"},{"type":"null"}]}},"required":["next"]}},"$ref":"#/$defs/N"})",
            {R"({"next":null})", R"({"next":{"next":null}})"},
            {R"({"next":1})"}},
        // A reference with something beside it that leads back to itself.
        Case{
            R"({"$defs":{"N":{"type":"object","properties":{"n":{"$ref":"#/$defs/N","minProperties":0}}}},"$ref":"#/$defs/N"})",
            {"{}", R"({"n":{"n":{"n":{}}}})"},
            {R"({"n":1})"}},
        Case{R"({"$id":"https://a.b/c","$defs":{"A":{"type":"null"}},"items":{"$ref":"https://a.b/c#/$defs/A"}})",
             {"[null]"},
             {"[1]"}}));

INSTANTIATE_TEST_SUITE_P(
    Strings, JsonSchema,
    testing::Values(
        Case{R"({"minLength":2,"maxLength":3})",
             {R"("ab")", R"("abc")", "\"\u6B6A\U0001F600\"", R"("\n\ud83d\ude00")"},
             {R"("a")", R"("abcd")", R"("\n")"}},
        Case{R"({"type":"string","minLength":1})", {R"("a")"}, {R"("")"}},
        Case{R"({"pattern":"^[a-z]{2,3}-\\d+$"})",
             {R"("ab-1")", R"("abc-42")"},
             {R"("a-1")", R"("ab-")", R"("ab-1 ")", "\"AB-1\""}},
        Case{R"({"pattern":"b+"})", {R"("b")", R"("abbc")"}, {R"("")", R"("ac")"}},
        Case{R"({"pattern":"^a|b$"})", {R"("axx")", R"("xxb")"}, {R"("xax")"}},
        Case{R"({"pattern":"^(a|b)+$"})", {R"("abba")"}, {R"("")", R"("abc")"}},
        Case{R"s({"pattern":"(^a$|^b$)"})s", {R"("a")", R"("b")"}, {R"("ab")"}},
        Case{R"({"pattern":"^[^a-y\\s]\\.\\w\\D$"})", {R"("z.a-")"}, {R"("a.a-")", R"("z.a1")", R"("zxa-")"}},
        Case{R"({"pattern":"^\\u0041\\x42\\u{43}[\\t\"\\\\]$"})",
             {R"("ABC\t")", R"("ABC\"")", R"("ABC\\")"},
             {R"("ABCx")"}},
        Case{R"({"pattern":"^(?:ab)?(?<n>c){2}.$"})", {R"("abccx")", "\"cc\u6B6A\""}, {R"("abc")", R"("cc\n")"}},
        Case{R"({"format":"date"})",
             {R"("2024-02-29")", R"("2023-12-31")"},
             {R"("2023-02-29")", R"("1900-02-29")", R"("2023-13-01")", R"("2023-04-31")"}},
        Case{
            R"({"format":"time"})", {R"("23:59:59Z")", R"("10:00:00.123+01:30")"}, {R"("24:00:00Z")", R"("10:00:00")"}},
        Case{R"({"format":"date-time"})", {R"("2000-02-29T10:00:00Z")"}, {R"("2000-02-29 10:00:00Z")"}},
        Case{R"({"format":"duration"})",
             {R"("P1D")", R"("PT5M")", R"("P1Y2M3DT4H5M6S")", R"("P2W")"},
             {R"("P")", R"("PT")", R"("1D")"}},
        Case{R"({"format":"uuid"})",
             {R"("123e4567-e89b-12d3-a456-426614174000")"},
             {R"("123e4567e89b12d3a456426614174000")"}},
        Case{R"({"format":"ipv4"})",
             {R"("127.0.0.1")", R"("255.255.255.255")"},
             {R"("256.0.0.1")", R"("1.2.3")", R"("01.2.3.4")"}},
        Case{R"({"format":"ipv6"})",
             {R"("::")", R"("::1")", R"("2001:db8::ff00:42:8329")", R"("::ffff:1.2.3.4")", R"("1:2:3:4:5:6:7:8")",
              R"("1:2:3:4:5:6:7::")"},
             {R"("1:2:3")", R"("1::2::3")", R"("12345::")", R"("1:2:3:4:5:6:7:8:9")"}},
        Case{R"({"format":"email"})", {R"("a.b+c@example.com")"}, {R"("a@")", R"("a b@c.d")", R"(".a@b.c")"}},
        Case{R"({"format":"hostname"})", {R"("example.com")", R"("a-b.c")"}, {R"("-a.com")", R"("a..b")", R"("a_b")"}},
        Case{R"({"format":"uri"})",
             {R"("https://a.b:80/c/d?e=f#g")", R"("mailto:a@b.c")", R"("http://[::1]/")", R"("urn:x:y")"},
             {R"("//a.b")", R"("a b:c")", R"("http://a b")"}},
        Case{R"({"type":"string","format":"password"})", {R"("x")"}, {"1"}}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, JsonSchema,
    testing::Values(Case{R"({"type":"integer","minimum":0})", {"0", "1", "999"}, {"-1", "1.5"}},
                    Case{R"({"type":"integer","minimum":-12,"maximum":105})",
                         {"-12", "-9", "-1", "0", "7", "42", "99", "100", "105"},
                         {"-13", "-20", "106", "110", "200", "1000", "-0"}},
                    Case{R"({"type":"integer","exclusiveMinimum":5,"exclusiveMaximum":8})", {"6", "7"}, {"5", "8"}},
                    Case{R"({"type":"integer","minimum":1.5,"maximum":3.5})", {"2", "3"}, {"1", "4"}},
                    Case{R"({"type":"integer","maximum":-5})", {"-5", "-10", "-123"}, {"-4", "0", "5"}},
                    Case{R"({"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807})",
                         {"9223372036854775807", "-9223372036854775808"},
                         {"9223372036854775808", "-9223372036854775809"}},
                    Case{R"({"type":"integer","minimum":3,"exclusiveMinimum":true})", {"4"}, {"3"}},
                    Case{R"({"type":"number","minimum":0.5})",
                         {"0.5", "0.51", "1", "1.0", "20", "0.500"},
                         {"0", "0.4", "0.49", "-1", "-0.5"}},
                    Case{R"({"type":"number","minimum":-1.25,"maximum":1.5})",
                         {"-1.25", "-1.2", "-1", "0", "0.0", "1", "1.5", "1.50", "1.499"},
                         {"-1.26", "-2", "1.51", "2", "10"}},
                    Case{R"({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1})",
                         {"0.5", "0.001", "0.999"},
                         {"0", "0.0", "1", "1.0", "-0.5"}},
                    Case{R"({"type":"number","minimum":1.2,"maximum":1.25})",
                         {"1.2", "1.20", "1.23", "1.25"},
                         {"1.1", "1.19", "1.251", "1.26", "1", "2"}},
                    Case{R"({"type":"number","multipleOf":1})", {"5"}, {"5.5"}}));

struct Wrong {
  const char* schema;
  const char* message;
};

void PrintTo(const Wrong& tested, std::ostream* out) { *out << tested.schema; }

class JsonSchemaRefuses : public testing::TestWithParam<Wrong> {};

TEST_P(JsonSchemaRefuses, NamingThePlace) {
  const auto grammar = json_schema_grammar(Json::parse(GetParam().schema));
  ASSERT_FALSE(grammar.ok());
  EXPECT_NE(grammar.error().message.find(GetParam().message), std::string::npos) << grammar.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, JsonSchemaRefuses,
    testing::Values(
        Wrong{"false", "allows no value"}, Wrong{"3", "a schema is an object"},
        Wrong{R"({"type":"text"})", "type: \"text\" is not a type"},
        Wrong{R"({"properties":{"a":{"pattern":"^all is well\\!$"}}})", "properties.a.pattern: at offset 12"},
        Wrong{R"({"pattern":"(?=a)b"})", "pattern: at offset 0 of the pattern: look-around"},
        Wrong{R"({"pattern":"(?<!a)*b"})", "look-around"},
        Wrong{R"({"pattern":"(a)\\1"})", "offset 3 of the pattern: back references"},
        Wrong{R"({"pattern":"a^b"})", "offset 1 of the pattern: an anchor"},
        Wrong{R"({"pattern":"\\bword"})", "word boundaries"}, Wrong{R"({"pattern":"(a"})", "this '(' has no ')'"},
        Wrong{R"s({"pattern":"a)"})s", "this ')' has no '('"}, Wrong{R"({"pattern":"[a"})", "this '[' has no ']'"},
        Wrong{R"({"pattern":"a**"})", "nothing to repeat"}, Wrong{R"({"pattern":"a{3,2}"})", "maximum of this count"},
        Wrong{R"({"pattern":"^*"})", "anchor cannot be repeated"},
        Wrong{R"({"pattern":"\\p{L}"})", "Unicode properties"},
        Wrong{R"({"pattern":3})", "pattern: this must be a string"},
        Wrong{R"({"pattern":"a","maxLength":3})", "maxLength: a length beside 'pattern'"},
        Wrong{R"({"type":"string","format":"phone"})", "format: the format 'phone' is not supported"},
        Wrong{R"({"patternProperties":{"a":{}}})", "patternProperties: this keyword"},
        Wrong{R"({"items":{"not":{}}})", "items.not: this keyword"},
        Wrong{R"({"if":{},"then":{}})", "if: this keyword"},
        Wrong{R"({"type":"array","uniqueItems":true})", "uniqueItems"},
        Wrong{R"({"type":"array","contains":{}})", "contains"},
        Wrong{R"({"type":"object","dependentRequired":{"a":["b"]}})", "dependentRequired"},
        Wrong{R"({"type":"integer","multipleOf":3})", "multipleOf"},
        Wrong{R"({"type":"integer","minimum":5,"maximum":4})", "no number lies between"},
        Wrong{R"({"type":"integer","minimum":"5"})", "minimum: this must be a number"},
        Wrong{R"({"type":"string","minLength":-1})", "minLength: a count"},
        Wrong{R"({"type":"string","minLength":3,"maxLength":2})", "maxLength: this is below minLength"},
        Wrong{R"({"type":"string","maxLength":900000})", "maxLength: counts above 100000"},
        Wrong{R"({"anyOf":[{"type":"string"},{"pattern":"("}]})", "anyOf[1].pattern"},
        Wrong{R"({"anyOf":[]})", "anyOf: this must be a list"},
        Wrong{R"({"$ref":"#/$defs/none"})", "$ref: there is no '#/$defs/none'"},
        Wrong{R"({"$ref":"other.json"})", "only references inside"},
        Wrong{R"({"$defs":{"A":{"$ref":"#/$defs/A"}},"$ref":"#/$defs/A"})", "refers to itself"},
        Wrong{R"({"$defs":{"A":{"anyOf":[{"$ref":"#/$defs/B"}]},"B":{"$ref":"#/$defs/A"}},"$ref":"#/$defs/A"})",
              "refers to itself"},
        Wrong{R"({"$ref":"#"})", "refers to itself"},
        Wrong{R"({"allOf":[{"$ref":"#"}],"type":"object"})", "refers to itself"},
        Wrong{R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})", "can ever end"},
        Wrong{R"({"properties":{"a":{}},"required":["b"],"additionalProperties":false})", "required: 'b' is not among"},
        Wrong{R"({"allOf":[{"type":"string"},{"type":"integer"}]})", "no type is left"},
        Wrong{R"({"allOf":[{"properties":{"a":{}},"additionalProperties":false},{"properties":{"b":{}}}]})",
              "cannot be joined"},
        Wrong{R"({"allOf":[{"pattern":"a"},{"pattern":"b"}]})", "pattern: two different values"},
        Wrong{R"({"type":"string","enum":[1]})", "enum: none of the values"},
        Wrong{R"({"enum":["abc"],"minLength":1})", "minLength: this keyword beside 'enum'"},
        Wrong{R"({"properties":3})", "properties: this must be an object"},
        Wrong{R"({"required":[3]})", "required: this must be a list"}));

TEST(JsonSchemaLimits, DeepSchemas) {
  Json deep = true;
  for (int i = 0; i < 2000; ++i) deep = Json{{"unknown", Json::array({std::move(deep)})}};
  const auto grammar = json_schema_grammar(deep);
  ASSERT_FALSE(grammar.ok());
  EXPECT_NE(grammar.error().message.find("nested deeper"), std::string::npos);
}

// Each level refers twice to the next with something beside it: 2^60 if they were compiled apart.
TEST(JsonSchemaLimits, DoublingReferences) {
  Json defs;
  for (int i = 0; i < 60; ++i) {
    const std::string next = "#/$defs/d" + std::to_string(i + 1);
    defs["d" + std::to_string(i)] = {{"type", "object"},
                                     {"properties", {{"a", {{"$ref", next}}}, {"b", {{"allOf", {{{"$ref", next}}}}}}}}};
  }
  defs["d60"] = {{"type", "null"}};
  const auto grammar = json_schema_grammar(Json{{"$defs", defs}, {"$ref", "#/$defs/d0"}});
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  EXPECT_TRUE(matches(*grammar, R"({"a":{"b":{}},"b":{}})"));
}

TEST(JsonSchemaLimits, ManyProperties) {
  Json properties;
  for (int i = 0; i < 500; ++i) properties["p" + std::to_string(i)] = {{"type", i % 2 ? "string" : "integer"}};
  const auto grammar =
      json_schema_grammar(Json{{"properties", properties}, {"additionalProperties", {{"type", "null"}}}});
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  EXPECT_TRUE(matches(*grammar, R"({"p0":1,"p499":"x","q":null})"));
  EXPECT_FALSE(matches(*grammar, R"({"p0":null})"));
}

TEST(JsonSchemaLimits, LongStringsAreCountedExactly) {
  for (const auto& [min, max] :
       {std::pair(0u, 129u), {0u, 192u}, {1u, 200u}, {130u, 130u}, {190u, 500u}, {64u, 1000u}}) {
    const auto grammar = json_schema_grammar(Json{{"type", "string"}, {"minLength", min}, {"maxLength", max}});
    ASSERT_TRUE(grammar.ok()) << grammar.error().message;
    for (uint32_t n = 0; n < max + 3; ++n)
      ASSERT_EQ(matches(*grammar, "\"" + std::string(n, 'a') + "\""), n >= min && n <= max) << n;
  }
  EXPECT_TRUE(json_schema_grammar(Json::parse(R"({"minLength":99999,"maxLength":100000})")).ok());
}

TEST(JsonSchemaLimits, WhiteSpaceEnds) {
  const auto grammar = json_schema_grammar(Json::parse(R"({"type":"array"})"));
  ASSERT_TRUE(grammar.ok());
  EXPECT_TRUE(begins(*grammar, "[\n" + std::string(40, ' ')));
  EXPECT_FALSE(begins(*grammar, "[\n" + std::string(100, ' ')));
}

TEST(JsonSchemaInBuilder, StandsBesideOtherExpressions) {
  GrammarBuilder b;
  const auto first =
      b.json_schema(Json::parse(R"({"$defs":{"A":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/A"}}})"));
  const auto second =
      b.json_schema(Json::parse(R"({"$defs":{"A":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/A"}}})"));
  ASSERT_TRUE(first.ok() && second.ok());
  const auto grammar =
      b.build(b.sequence({b.literal("<f>"), b.choice({*first, *second}), b.literal("</f>"), b.json_value()}));
  ASSERT_TRUE(grammar.ok());
  EXPECT_TRUE(matches(*grammar, R"(<f>{"a":1}</f>[])"));
  EXPECT_TRUE(matches(*grammar, R"(<f>{"a":"x"}</f>[])"));
  EXPECT_FALSE(matches(*grammar, R"(<f>{"a":null}</f>[])"));
}

}  // namespace
}  // namespace terrace::text
