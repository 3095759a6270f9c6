#include "cli/render/run/failure_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "muster/v1/run.pb.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::NodeStepResult Failed(const std::string& node, const std::string& message,
                          const std::string& output) {
  v1::NodeStepResult result;
  result.set_node(node);
  v1::StepResult& step = *result.mutable_result();
  step.set_step_id("munge/key");
  step.set_role("munge");
  step.set_name("key");
  step.set_status(v1::STEP_STATUS_FAILED);
  step.set_message(message);
  step.set_output(output);
  return result;
}

TEST(EndReport, EqualErrorsOfCompilingAreToldOnce) {
  EndReport ends;
  EXPECT_EQ(ends.Take(), "");
  const auto add = [&](const std::string& node, const std::string& message) {
    v1::NodeRecap recap;
    recap.set_node(node);
    recap.set_state("failed");
    recap.set_message(message);
    ends.Add(recap);
  };
  const std::string error = "rack.j2:1:4: undefined variable 'rack'\n  1 | {{ rack }}";
  for (int i = 1; i <= 40; ++i) add(absl::StrFormat("c%03d", i), error);
  add("c041", "the node refused the plan");
  add("c042", error);
  EXPECT_EQ(ends.Take(),
            "c[001-040,042]: failed\n"
            "    rack.j2:1:4: undefined variable 'rack'\n"
            "      1 | {{ rack }}\n"
            "c041: failed\n"
            "    the node refused the plan\n");
  EXPECT_EQ(ends.Take(), "");
}

TEST(FailureReport, EqualFailuresAreToldOnce) {
  FailureReport report(40);
  for (int i = 1; i <= 40; ++i) {
    report.Add(Failed(absl::StrFormat("c%03d", i), "exit 7", i == 40 ? "at 12:01" : "at 12:00"));
  }
  report.Add(Failed("c041", "exit 8", "same"));
  report.Add(Failed("c042", "exit 8", "same"));
  v1::NodeStepResult fine = Failed("c043", "", "");
  fine.mutable_result()->set_status(v1::STEP_STATUS_CHANGED);
  report.Add(fine);
  EXPECT_EQ(report.Render(),
            "c[001-040]: failed  munge: key\n"
            "    exit 7\n"
            "    printed on c001 (elsewhere it differs):\n"
            "    at 12:00\n"
            "c[041-042]: failed  munge: key\n"
            "    exit 8\n"
            "    same\n");
}

TEST(FailureReport, OutputThatTheMessageHoldsIsNotRepeated) {
  FailureReport report(40);
  report.Add(Failed("a", "sh failed with exit status 7: out\nwhy", "out\nwhy\n"));
  EXPECT_EQ(report.Render(),
            "a: failed  munge: key\n"
            "    sh failed with exit status 7: out\n"
            "    why\n");
}

TEST(FailureReport, LongOutputIsCutToItsEnd) {
  std::string output;
  for (int i = 1; i <= 100; ++i) absl::StrAppend(&output, "line ", i, "\n");
  FailureReport few(3), all(0);
  few.Add(Failed("a", "no", output));
  all.Add(Failed("a", "no", output));
  EXPECT_THAT(few.Render(), HasSubstr("    … 97 lines before; all: --node a\n    line 98\n"));
  EXPECT_THAT(few.Render(), Not(HasSubstr("line 97\n")));
  EXPECT_THAT(all.Render(), HasSubstr("    line 1\n"));
}

}  // namespace
}  // namespace muster::cli
