#include "cli/render/report/command_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/context.h"
#include "muster/v1/command.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;

v1::NodeCommandEnd Exited(const std::string& node, uint32_t status, const std::string& output) {
  v1::NodeCommandEnd ended;
  ended.set_node(node);
  ended.mutable_end()->set_outcome(v1::COMMAND_OUTCOME_EXITED);
  ended.mutable_end()->set_exit_status(status);
  ended.mutable_end()->set_output(output);
  return ended;
}

v1::NodeCommandEnd Other(const std::string& node, v1::CommandOutcome outcome,
                         const std::string& message = "") {
  v1::NodeCommandEnd ended;
  ended.set_node(node);
  ended.mutable_end()->set_outcome(outcome);
  ended.mutable_end()->set_message(message);
  return ended;
}

TEST(CommandReportTest, EqualNodesAreShownTogether) {
  std::vector<v1::NodeCommandEnd> nodes = {
      Exited("c001", 0, "up 3 days\n"),
      Exited("c002", 3, "up 3 days\n"),
      Exited("c003", 0, "up 3 days\n"),
      Exited("c004", 0, "no newline"),
      Exited("c005", 0, ""),
      Other("c006", v1::COMMAND_OUTCOME_TIMED_OUT),
      Other("c007", v1::COMMAND_OUTCOME_NOT_CONNECTED),
      Other("c008", v1::COMMAND_OUTCOME_NOT_CONNECTED),
      Other("c009", v1::COMMAND_OUTCOME_NOT_RUN, "there is no program 'upitme'")};
  nodes[3].mutable_end()->set_bytes_left_out(4096);
  EXPECT_THAT(RenderCommand(nodes), Said());
  EXPECT_THAT(DescribeCommandFailures(nodes), Said());
}

TEST(CommandReportTest, NothingIsSaidOfNodesThatExitedWell) {
  EXPECT_EQ(DescribeCommandFailures({Exited("c001", 0, "x"), Exited("c002", 0, "y")}), "");
}

TEST(CommandReportTest, TheExitCodeNamesTheWorst) {
  const v1::NodeCommandEnd good = Exited("c001", 0, "");
  const v1::NodeCommandEnd away = Other("c002", v1::COMMAND_OUTCOME_NOT_CONNECTED);
  const v1::NodeCommandEnd lost = Other("c003", v1::COMMAND_OUTCOME_LOST);
  EXPECT_EQ(ExitCodeOfCommand({good}), kExitClean);
  EXPECT_EQ(ExitCodeOfCommand({good, away}), kExitUnreachable);
  EXPECT_EQ(ExitCodeOfCommand({good, lost}), kExitUnreachable);
  EXPECT_EQ(ExitCodeOfCommand({away, Exited("c004", 1, "")}), kExitFailed);
  EXPECT_EQ(ExitCodeOfCommand({Other("c004", v1::COMMAND_OUTCOME_TIMED_OUT), away}), kExitFailed);
  EXPECT_EQ(ExitCodeOfCommand({Other("c004", v1::COMMAND_OUTCOME_UNSPECIFIED)}), kExitFailed);
}

}  // namespace
}  // namespace muster::cli
