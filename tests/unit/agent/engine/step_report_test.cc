#include "agent/engine/step_report.h"

#include "tests/unit/agent/engine/engine_fixture.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StepReportTest, WithholdsErrorsThatCouldHoldASecret) {
  v1::Step step = Command("a/c", "c");
  const absl::Status status = absl::InternalError("mysql -phunter2 failed");
  EXPECT_THAT(ReportedError(step, status), HasSubstr("hunter2"));
  step.set_sensitive(true);
  EXPECT_THAT(ReportedError(step, status), Not(HasSubstr("hunter2")));
  EXPECT_THAT(ReportedError(step, status), HasSubstr("INTERNAL"));
}

TEST(StepReportTest, KeepsDiffsBackUnlessAskedFor) {
  const v1::Step step = File("a/f", "/f", "x");
  const std::vector<Change> changes = {{"content", "a", "b", "-a\n+b\n"}};
  EXPECT_EQ(ReportedChanges(step, changes, false)[0].diff(), "");
  EXPECT_EQ(ReportedChanges(step, changes, true)[0].diff(), "-a\n+b\n");
}

TEST(StepReportTest, ASensitiveStepTellsItsModeButNothingOfItsContent) {
  v1::Step step = File("a/f", "/f", "x");
  step.set_sensitive(true);
  const std::vector<Change> changes = {{"content", "old", "hunter2", "+hunter2\n"},
                                       {"mode", "0644", "0400", ""}};
  const std::vector<v1::Change> reported = ReportedChanges(step, changes, true);
  EXPECT_EQ(reported[0].before(), "[secret]");
  EXPECT_EQ(reported[0].after(), "[secret]");
  EXPECT_EQ(reported[0].diff(), "");
  EXPECT_EQ(reported[1].before(), "0644");
  EXPECT_EQ(reported[1].after(), "0400");
}

}  // namespace
}  // namespace muster::agent
