// Fields of requests: what is taken, and what is refused with its path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/fields.h"

namespace terrace::serve {
namespace {

using ::testing::HasSubstr;

class FieldsTest : public ::testing::Test {
 protected:
  /// The problem of reading a field "x" as T; empty: none.
  template <class T, class... Bounds>
  std::string problem_of(const Json& value, T& into, Bounds... bounds) {
    problem.reset();
    const Json object{{"x", value}};
    Fields(object, "a[2]", problem).read("x", into, bounds...);
    return problem ? problem->param + ": " + problem->message : "";
  }
  std::optional<Refusal> problem;
};

TEST_F(FieldsTest, NullAndAbsentLeaveTheValue) {
  double number = 5;
  std::string text = "kept";
  EXPECT_EQ(problem_of(nullptr, number), "");
  EXPECT_EQ(problem_of(nullptr, text), "");
  EXPECT_EQ(number, 5);
  EXPECT_EQ(text, "kept");
}

TEST_F(FieldsTest, WrongKindsAreNamedWithTheirPath) {
  bool flag = false;
  double number = 0;
  int64_t whole = 0;
  std::string text;
  EXPECT_EQ(problem_of("true", flag), "a[2].x: must be a boolean, not a string");
  EXPECT_EQ(problem_of(Json::array(), number), "a[2].x: must be a number, not a list");
  EXPECT_EQ(problem_of(true, whole), "a[2].x: must be a whole number, not a boolean");
  EXPECT_EQ(problem_of(1, text), "a[2].x: must be a string, not a number");
}

TEST_F(FieldsTest, WholeNumbers) {
  int64_t whole = 0;
  EXPECT_EQ(problem_of(5.0, whole), "");
  EXPECT_EQ(whole, 5);
  EXPECT_THAT(problem_of(1.5, whole), HasSubstr("must be a whole number"));
  EXPECT_THAT(problem_of(1e300, whole), HasSubstr("is 1e+300"));
  EXPECT_THAT(problem_of(uint64_t{1} << 63, whole), HasSubstr("must be"));
  EXPECT_EQ(problem_of(INT64_MIN, whole), "");
  EXPECT_EQ(whole, INT64_MIN);
  EXPECT_THAT(problem_of(4, whole, int64_t{5}, int64_t{7}), HasSubstr("from 5 to 7"));
  size_t size = 9;
  EXPECT_THAT(problem_of(-1, size), HasSubstr("at least 0"));
  EXPECT_EQ(size, 9u);
}

TEST_F(FieldsTest, TheFirstProblemStays) {
  const Json object{{"a", 1}, {"b", 2}};
  const Fields fields(object, "", problem);
  bool flag = false;
  fields.read("a", flag);
  fields.read("b", flag);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->param, "a");
}

TEST_F(FieldsTest, ListsOfStrings) {
  std::vector<std::string> values;
  const auto read = [&](const Json& value) {
    problem.reset();
    const Json object{{"stop", value}};
    Fields(object, "", problem).read_strings("stop", values, 3);
    return problem ? problem->param + ": " + problem->message : "";
  };
  EXPECT_EQ(read("one"), "");
  EXPECT_EQ(values, std::vector<std::string>{"one"});
  EXPECT_EQ(read({"a", "b"}), "");
  EXPECT_EQ(values.size(), 2u);
  EXPECT_EQ(read({"a", 5}), "stop[1]: must be a string, not a number");
  EXPECT_THAT(read({"a", "b", "c", "d"}), HasSubstr("at most 3"));
}

TEST(Json, DepthIsBoundedAndErrorsAreSentences) {
  EXPECT_TRUE(parse_json("[[1, {\"a\": null}]]"));
  const auto deep = parse_json(std::string(100000, '['));
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().message, HasSubstr("levels of brackets"));
  const auto broken = parse_json("{\"a\": }", "file.json");
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("file.json: not JSON"));
  EXPECT_EQ(json_line("\xff"), "\"\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace terrace::serve
