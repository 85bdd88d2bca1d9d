// The store of past responses: bounded, and empty-handed rather than wrong.
#include <gtest/gtest.h>

#include "serve/responses_request.h"

namespace terrace::serve {
namespace {

TEST(ResponseStore, KeepsTheNewest) {
  ResponseStore store;
  for (int i = 0; i < 1100; ++i) store.put("r" + std::to_string(i), {{"n", i}}, Json::array({i}));
  EXPECT_FALSE(store.messages("r0"));
  EXPECT_FALSE(store.response("r75"));
  ASSERT_TRUE(store.messages("r1099"));
  EXPECT_EQ((*store.messages("r1099"))[0], 1099);
}

TEST(ResponseStore, IsBoundedInBytes) {
  ResponseStore store;
  const std::string megabyte(size_t{1} << 20, 'x');
  for (int i = 0; i < 100; ++i) store.put(std::to_string(i), Json(megabyte), Json::array());
  EXPECT_FALSE(store.response("30"));
  EXPECT_TRUE(store.response("99"));
  store.put("huge", Json(std::string(size_t{65} << 20, 'x')), Json::array());
  EXPECT_FALSE(store.response("huge"));
  EXPECT_TRUE(store.response("99"));
}

TEST(ResponseStore, Erases) {
  ResponseStore store;
  store.put("a", 1, 2);
  EXPECT_TRUE(store.erase("a"));
  EXPECT_FALSE(store.erase("a"));
  EXPECT_FALSE(store.response("a"));
}

}  // namespace
}  // namespace terrace::serve
