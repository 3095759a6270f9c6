#include "common/sys/http/http_text.h"
#include "tests/fixtures/golden_texts.h"

#include <gmock/gmock.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::sys {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HttpText, TakesHttpUrls) {
  for (const std::string url :
       {"http://host/a", "https://host", "HTTPS://u:p@host:8443/a%20b?sig=1", "http://[::1]:80/x"})
    EXPECT_OK(CheckHttpUrl(url)) << url;
}

TEST(HttpText, RefusesWhatIsNoHttpUrl) {
  for (const std::string url :
       {"", "file:///etc/shadow", "ftp://host/a", "host/a", "/a", "http://host:99999/",
        "http://host/a b", "http://host/a\nHost: b", "javascript:alert(1)"})
    EXPECT_THAT(CheckHttpUrl(url), StatusIs(absl::StatusCode::kInvalidArgument, Said())) << url;
  EXPECT_FALSE(CheckHttpUrl("http://host/" + std::string(9000, 'a')).ok());
}

TEST(HttpText, EscapesWhatAnotherPartOfTheUrlWouldMean) {
  EXPECT_EQ(EscapeInUrl("a b&c=d/\xc3\xa9%", "/"), "a%20b%26c%3Dd/%C3%A9%25");
  EXPECT_EQ(EscapeInUrl("a/b", ""), "a%2Fb");
}

TEST(HttpText, DescribesWithoutSecrets) {
  EXPECT_EQ(DescribeUrl("https://ann:hunter2@host:8443/a/b.tar?X-Signature=hunter2#hunter2"),
            "https://host:8443/a/b.tar");
  for (const std::string url :
       {"http://ann:hunter2@host:99999/a", "http://ann:hunter2 @host/", "http://ann:hunter2@",
        "file://ann:hunter2@host/x", "//ann:hunter2@host", "http://ann:hunt/er2hunter2@host/"})
    EXPECT_THAT(std::string(CheckHttpUrl(url).message()), Not(HasSubstr("hunter2"))) << url;
  EXPECT_THAT(UrlSecrets("https://ann:hunter2@host/?sig=abc"),
              ::testing::ElementsAre("ann", "hunter2", "sig=abc"));
}

TEST(HttpText, ReadsContentRange) {
  const auto range = ParseContentRange("bytes 5-9/10");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->first, 5u);
  EXPECT_EQ(range->last, 9u);
  EXPECT_EQ(range->total, 10u);
  EXPECT_EQ(ParseContentRange(" BYTES 0-0/* ")->total, std::nullopt);
  EXPECT_EQ(ParseContentRange("bytes 0-18446744073709551614/18446744073709551615")->last,
            18446744073709551614u);
  for (const char* text :
       {"", "bytes", "bytes 5-9", "bytes 9-5/10", "bytes 5-10/10", "bytes -5/10", "bytes 5-/10",
        "bytes */10", "bytes 5-9/", "items 5-9/10", "bytes +5-9/10", "bytes 5 -9/10",
        "bytes 0-18446744073709551616/*", "bytes 5/9-10"})
    EXPECT_FALSE(ParseContentRange(text).has_value()) << text;
}

TEST(HttpText, PrefersStrongTags) {
  const char* date = "Wed, 21 Oct 2015 07:28:00 GMT";
  EXPECT_EQ(ContentValidator("\"abc\"", date), "\"abc\"");
  EXPECT_EQ(ContentValidator("W/\"abc\"", date), date);
  EXPECT_EQ(ContentValidator("", date), date);
  EXPECT_EQ(ContentValidator("W/\"abc\"", ""), "");
  EXPECT_EQ(ContentValidator("\"a\r\nX: b\"", "a\nb"), "");
  EXPECT_EQ(ContentValidator("\"" + std::string(5000, 'a') + "\"", ""), "");
}

}  // namespace
}  // namespace muster::sys
