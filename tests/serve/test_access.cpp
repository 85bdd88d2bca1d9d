// Keys, names and origins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/access.h"
#include "support/files.h"

namespace terrace::serve {
namespace {

using ::testing::HasSubstr;
using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

HttpRequest request(std::map<std::string, std::string> headers) {
  HttpRequest made;
  made.headers = std::move(headers);
  return made;
}

int status(const std::optional<Refusal>& refusal) { return refusal ? refusal->status : 200; }

TEST(Access, PublicAddressesNeedAKey) {
  for (const char* host : {"0.0.0.0", "192.168.1.5", "::", "box.lan"}) {
    AccessOptions options{.host = host};
    EXPECT_THAT(message_of(Access::create(options)), HasSubstr("there is no key")) << host;
    options.allow_public = true;
    EXPECT_TRUE(Access::create(options)) << host;
    EXPECT_TRUE(Access::create({.host = host, .keys = {"k"}})) << host;
  }
  for (const char* host : {"127.0.0.1", "::1", "localhost"}) EXPECT_TRUE(Access::create({.host = host})) << host;
}

TEST(Access, Keys) {
  TemporaryFolder folder;
  const std::string file = folder / "keys";
  write_file(file, "# ours\r\nfile-key\r\n\n");
  Access access = take(Access::create({.keys = {"first"}, .key_file = file}));
  EXPECT_EQ(status(access.check_key(request({}))), 401);
  EXPECT_EQ(status(access.check_key(request({{"authorization", "Bearer "}}))), 401);
  EXPECT_EQ(status(access.check_key(request({{"authorization", "Bearer firs"}}))), 401);
  EXPECT_EQ(status(access.check_key(request({{"authorization", "Bearer first"}}))), 200);
  EXPECT_EQ(status(access.check_key(request({{"x-api-key", "file-key"}}))), 200);
  write_file(file, "");
  EXPECT_THAT(message_of(access.reload_keys()), HasSubstr("holds no key"));
  EXPECT_EQ(status(access.check_key(request({{"x-api-key", "file-key"}}))), 200);  // as they were
  write_file(file, "new");
  need(access.reload_keys());
  EXPECT_EQ(status(access.check_key(request({{"x-api-key", "file-key"}}))), 401);
  EXPECT_EQ(status(access.check_key(request({{"x-api-key", "new"}}))), 200);
}

TEST(Access, NamesThatOthersPointedHere) {
  const Access access = take(Access::create({.allowed_hosts = {"box.lan"}}));
  for (const char* host :
       {"", "localhost", "localhost:8080", "127.0.0.1:8080", "[::1]:8080", "192.168.0.3", "box.lan:1"})
    EXPECT_EQ(status(access.check_origin(request({{"host", host}}))), 200) << host;
  for (const char* host : {"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example"})
    EXPECT_EQ(status(access.check_origin(request({{"host", host}}))), 403) << host;
  // A key protects as well, and names may then be anybody's.
  const Access keyed = take(Access::create({.keys = {"k"}}));
  EXPECT_EQ(status(keyed.check_origin(request({{"host", "home.example"}}))), 200);
}

TEST(Access, PagesOfOtherOrigins) {
  const Access access = take(Access::create({.origins = {"https://app.example"}}));
  const auto from = [&](const char* origin) { return request({{"host", "localhost:8080"}, {"origin", origin}}); };
  EXPECT_EQ(status(access.check_origin(from("http://localhost:8080"))), 200);
  EXPECT_EQ(status(access.check_origin(from("https://app.example"))), 200);
  EXPECT_EQ(status(access.check_origin(from("http://localhost:9999"))), 403);
  EXPECT_EQ(status(access.check_origin(from("null"))), 403);
  HttpResponse response;
  access.add_cors(from("https://evil.example"), response);
  EXPECT_TRUE(response.headers.empty());
  access.add_cors(from("https://app.example"), response);
  EXPECT_FALSE(response.headers.empty());
}

}  // namespace
}  // namespace terrace::serve
