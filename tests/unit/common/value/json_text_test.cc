#include "common/value/json_text.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster {
namespace {

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// Lists within each other, with a number in the innermost.
std::string Nested(size_t depth) {
  return absl::StrCat(std::string(depth, '['), 1, std::string(depth, ']'));
}

TEST(JsonTextTest, NestingHasALimit) {
  EXPECT_OK(ParseJson<Value>(Nested(4), 4).status());
  EXPECT_THAT(ParseJson<Value>(Nested(5), 4).status(), StatusIs(kInvalid, HasSubstr("deeper")));
  EXPECT_THAT(ParseJson<Value>("[[[[{}]]]]", 4).status(), StatusIs(kInvalid, HasSubstr("deeper")));
  EXPECT_THAT(ParseJson<Value>("[[[[", 4).status(), StatusIs(kInvalid, HasSubstr("not JSON")));
  EXPECT_EQ(ParseJson<Value>(R"({"b": [1, {}], "a": null})", 4)->dump(),
            R"({"b":[1,{}],"a":null})");
}

TEST(JsonTextTest, ExtraVariablesAreNamedInErrors) {
  EXPECT_EQ(*ParseExtraVar("ntp", "\"10.0.0.1\""), Value("10.0.0.1"));
  EXPECT_OK(ParseExtraVar("x", Nested(kMaxValueDepth)).status());
  EXPECT_THAT(ParseExtraVar("x", Nested(kMaxValueDepth + 1)).status(),
              StatusIs(kInvalid, HasSubstr("-e x: ")));
  // A copy of it would end the process, and the error is a line.
  for (const std::string& text : {Nested(1 << 20), std::string(1 << 20, '[')}) {
    const absl::Status refused = ParseExtraVar("x", text).status();
    EXPECT_THAT(refused, StatusIs(kInvalid, AllOf(HasSubstr("-e x: "), HasSubstr("deeper"))));
    EXPECT_LT(refused.message().size(), 200u);
  }
}

}  // namespace
}  // namespace muster
