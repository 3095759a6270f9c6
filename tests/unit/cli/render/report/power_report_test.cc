#include "cli/render/report/power_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/context.h"
#include "muster/v1/node.pb.h"
#include "muster/v1/power.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;

v1::NodePower At(const std::string& node, v1::PowerStep step, v1::PowerState state,
                 const std::string& message = "") {
  v1::NodePower power;
  power.set_node(node);
  power.set_step(step);
  power.set_state(state);
  power.set_message(message);
  return power;
}

TEST(PowerReportTest, EqualNodesShareARow) {
  EXPECT_THAT(
      RenderPower(
          {At("c001", v1::POWER_STEP_DONE, v1::POWER_STATE_ON),
           At("c002", v1::POWER_STEP_FAILED, v1::POWER_STATE_UNSPECIFIED, "BMC 10.1.0.2: no"),
           At("c003", v1::POWER_STEP_DONE, v1::POWER_STATE_ON),
           At("c004", v1::POWER_STEP_DONE, v1::POWER_STATE_OFF, "it was off already"),
           At("c005", v1::POWER_STEP_ASKED, v1::POWER_STATE_ON, "asked to switch off")}),
      Said());
}

TEST(PowerReportTest, ProgressIsOneLine) {
  EXPECT_THAT(DescribePowerProgress(
                  6, {At("c001", v1::POWER_STEP_DONE, v1::POWER_STATE_ON),
                      At("c002", v1::POWER_STEP_FAILED, v1::POWER_STATE_UNSPECIFIED, "no"),
                      At("c003", v1::POWER_STEP_ASKED, v1::POWER_STATE_OFF),
                      At("c004", v1::POWER_STEP_WAITING, v1::POWER_STATE_OFF, "the rack is full")}),
              Said());
  EXPECT_THAT(DescribePowerProgress(1, {}), Said());
}

TEST(PowerReportTest, TheExitCodeSaysWhetherAllAreDone) {
  const v1::NodePower done = At("c001", v1::POWER_STEP_DONE, v1::POWER_STATE_ON);
  EXPECT_EQ(ExitCodeOfPower({done}), kExitClean);
  EXPECT_EQ(ExitCodeOfPower({done, At("c2", v1::POWER_STEP_FAILED, v1::POWER_STATE_ON)}),
            kExitFailed);
  EXPECT_EQ(ExitCodeOfPower({done, At("c2", v1::POWER_STEP_ASKED, v1::POWER_STATE_ON)}),
            kExitFailed);
}

TEST(PowerReportTest, AsksWithTheJobsThatEnd) {
  v1::ChangePowerRequest request;
  request.set_verb(v1::POWER_VERB_OFF);
  v1::ListNodeJobsResponse jobs;
  EXPECT_THAT(PowerQuestion(request, "hpc1", {"c001", "c002"}, jobs), Said());
  request.set_soft(true);
  EXPECT_THAT(PowerQuestion(request, "hpc1", {"c001"}, jobs), Said());
  request.set_soft(false);
  request.set_force(true);
  request.set_verb(v1::POWER_VERB_CYCLE);
  jobs.set_unknown("slurmctld does not answer");
  EXPECT_THAT(PowerQuestion(request, "hpc1", {"c001"}, jobs), Said());
}

}  // namespace
}  // namespace muster::cli
