#include "agent/image/result_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;

v1::StepResult ResultOf(const std::string& text) {
  v1::StepResult result;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &result));
  return result;
}

TEST(DescribeResult, TellsOnlyWhatChangedOrFailed) {
  EXPECT_EQ(DescribeResult(ResultOf("step_id: 'r/a' status: STEP_STATUS_OK")), "");
  EXPECT_EQ(DescribeResult(ResultOf("step_id: 'r/a' status: STEP_STATUS_SKIPPED message: 'x'")),
            "");
  EXPECT_THAT(DescribeResult(ResultOf(R"(
      step_id: "munge/key" status: STEP_STATUS_CHANGED resource: "file[/etc/munge/munge.key]"
      changes { field: "content" before: "[secret]" after: "[secret]" }
      changes { field: "mode" before: "0644" after: "0400" }
      changes { field: "unit" after: "present" })")),
              Said());
  EXPECT_THAT(DescribeResult(ResultOf(R"(
      step_id: "r/fail" status: STEP_STATUS_FAILED resource: "command[make all]"
      message: "make failed with exit status 2: bad\nworse" output: "begin\nbad\nworse\n")")),
              Said());
}

TEST(DescribeResult, TellsAShortOutputOnce) {
  EXPECT_EQ(DescribeResult(ResultOf(R"(step_id: "r/a" status: STEP_STATUS_FAILED
                                    message: "sh failed: no" output: "no\n")")),
            "failed   r/a\n    sh failed: no\n");
}

TEST(DescribeResult, IsBoundedAndSafeForATerminal) {
  v1::StepResult failed = ResultOf("step_id: 'r/a' status: STEP_STATUS_FAILED message: 'x'");
  for (int i = 0; i < 1000; ++i)
    absl::StrAppend(failed.mutable_output(), "line ", i, " \x1b[31m", std::string(900, 'y'), "\n");
  const std::string text = DescribeResult(failed);
  EXPECT_THAT(text, HasSubstr("line 999 "));
  EXPECT_THAT(text, HasSubstr("line 970 "));
  EXPECT_THAT(text, Not(HasSubstr("line 969 ")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_LT(text.size(), 20000u);

  v1::StepResult changed = ResultOf("step_id: 'r/a' status: STEP_STATUS_CHANGED");
  for (int i = 0; i < 8; ++i) changed.add_changes()->set_field(absl::StrCat("field", i));
  EXPECT_EQ(DescribeResult(changed),
            "changed  r/a: field0, field1, field2, field3, field4, 3 more\n");
}

}  // namespace
}  // namespace muster::agent
