#include "agent/burnin/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "agent/burnin/check.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::burnin {
namespace {

using ::muster::testing::Said;
using ::testing::SizeIs;

const checks::CheckSpec& Inventory() { return *checks::FindCheck("gpu-inventory"); }

TEST(Result, UnitsComeFromTheCatalogue) {
  CheckResult result;
  AddMetric(result, "power_limit_watts", "", "GPU-1", 250);
  FinishResult(Inventory(), result);
  EXPECT_EQ(result.outcome, Outcome::kPass);
  ASSERT_THAT(result.metrics, SizeIs(1));
  EXPECT_EQ(result.metrics[0].unit, "W");
}

TEST(Result, MetricThatIsNoNumberIsDroppedAndTheResultUnknown) {
  CheckResult result;
  AddMetric(result, "power_limit_watts", "", "", std::numeric_limits<double>::quiet_NaN());
  AddMetric(result, "no_such_metric", "", "", 1);
  FinishResult(Inventory(), result);
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.metrics, SizeIs(0));
  EXPECT_THAT(result.reason, Said());
  EXPECT_THAT(result.reason, Said());
}

TEST(Result, FaultsFailWhateverElseIsUnknown) {
  CheckResult result = Unknown("the fans could not be read");
  AddFault(result, "gpu_lost", "GPU-1", "GPU 1 is lost", std::vector<std::string>(500, "line"));
  FinishResult(Inventory(), result);
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_EQ(result.reason, "GPU 1 is lost; the fans could not be read");
  EXPECT_THAT(result.faults[0].evidence, SizeIs(CheckResult::kMaxEvidence));
}

TEST(Result, UnknownHasAlwaysAReason) {
  CheckResult result = Unknown("");
  FinishResult(Inventory(), result);
  EXPECT_THAT(result.reason, Said());
}

TEST(Runners, ThereIsOneForEachCheckOfTheCatalogue) {
  for (const checks::CheckSpec* check : checks::Checks()) {
    int runners = 0;
    for (const CheckRunner& runner : CheckRunners())
      if (runner.name == check->name) ++runners;
    EXPECT_EQ(runners, 1) << check->name;
  }
  EXPECT_EQ(CheckRunners().size(), checks::Checks().size());
}

}  // namespace
}  // namespace muster::burnin
