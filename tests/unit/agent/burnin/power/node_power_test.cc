#include "agent/burnin/power/node_power.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/clock.h"
#include "common/checks/power_samples.h"
#include "common/sys/process/process_control.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/unit/agent/burnin/gpu/recording_reporter.h"

namespace muster::burnin {
namespace {

using ::muster::testing::FakeFileSystem;
using ::muster::testing::FakeProcessRunner;
using ::testing::IsEmpty;

class NodePowerTest : public ::testing::Test {
 protected:
  CheckContext Context() {
    return {parameters_, reporter_, clock_, files_, processes_, clock_.Now()};
  }
  std::vector<Sample> SamplesOf(const std::string& source) {
    std::vector<Sample> found;
    for (const Sample& sample : reporter_.samples()) {
      EXPECT_EQ(sample.metric, checks::kPowerMetric);
      EXPECT_EQ(sample.subject, "");
      if (sample.variant == source) found.push_back(sample);
    }
    return found;
  }
  void AddProcessor() {
    files_.AddFile("/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    files_.AddFile("/sys/class/powercap/intel-rapl:0/energy_uj", "1000\n");
    files_.AddFile("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
  }
  void AddBmc(FakeProcessRunner::Behaviour behaviour) {
    files_.AddFile("/dev/ipmi0", "");
    processes_.On("ipmitool", std::move(behaviour));
  }

  const checks::Parameters parameters_ =
      checks::Parameters::Parse(*checks::FindCheck("cpu-stress"), {}).value();
  RecordingReporter reporter_;
  RealClock clock_;
  FakeFileSystem files_;
  FakeProcessRunner processes_;
};

TEST_F(NodePowerTest, MachineThatTellsNothingHasNoSamplesAndNoDelay) {
  // A machine with much to do may hold some of them up, but not all.
  absl::Duration least = absl::InfiniteDuration();
  for (int i = 0; i < 10 && least >= absl::Milliseconds(400); ++i) {
    const absl::Time start = clock_.Now();
    {
      NodePower power(Context(), true);
      power.MeasureRest();
    }
    least = std::min(least, clock_.Now() - start);
  }
  EXPECT_LT(least, absl::Milliseconds(400));
  EXPECT_THAT(reporter_.samples(), IsEmpty());
}

TEST_F(NodePowerTest, ProcessorsAtRestAreMeasuredBeforeTheLoad) {
  AddProcessor();
  NodePower power(Context(), false);
  EXPECT_THAT(SamplesOf(checks::kPowerOfProcessors), IsEmpty());
  power.MeasureRest();
  ASSERT_FALSE(SamplesOf(checks::kPowerOfProcessors).empty());
  EXPECT_EQ(SamplesOf(checks::kPowerOfProcessors)[0].value, 0);  // the counter stands still
  EXPECT_GE(SamplesOf(checks::kPowerOfProcessors)[0].at, absl::Milliseconds(400));
}

TEST_F(NodePowerTest, MeterIsAskedAtOnceAndOnlyWhereItMayBe) {
  AddBmc([](const sys::ProcessSpec&) {
    return FakeProcessRunner::Prints("Instantaneous power reading: 512 Watts\n");
  });
  { const NodePower power(Context(), false); }
  EXPECT_THAT(processes_.commands(), IsEmpty());
  {
    const NodePower power(Context(), true);
    const absl::Time limit = clock_.Now() + absl::Seconds(20);
    while (reporter_.samples().empty() && clock_.Now() < limit) clock_.Sleep(absl::Milliseconds(5));
  }
  const std::vector<Sample> samples = SamplesOf(checks::kPowerOfNode);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].value, 512);
}

// The check ends, whatever the BMC does.
TEST_F(NodePowerTest, BmcThatDoesNotAnswerIsGivenUp) {
  std::atomic<bool> asked = false;
  AddBmc([&](const sys::ProcessSpec& spec) {
    asked = true;
    const absl::Time limit = clock_.Now() + absl::Seconds(20);
    while (!spec.control->Take().stop_after.has_value() && clock_.Now() < limit)
      clock_.Sleep(absl::Milliseconds(5));
    return FakeProcessRunner::Prints("", 1);
  });
  absl::Time end;
  {
    const NodePower power(Context(), true);
    while (!asked) clock_.Sleep(absl::Milliseconds(5));
    end = clock_.Now();
  }
  EXPECT_LT(clock_.Now() - end, absl::Seconds(15));
  EXPECT_THAT(reporter_.samples(), IsEmpty());
}

}  // namespace
}  // namespace muster::burnin
