#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "agent/health/probes/gpu_readings.h"
#include "agent/health/probes/probe.h"
#include "tests/unit/agent/health/health_tree.h"

namespace muster::agent::health {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// As muster-burnin prints it.
std::string Driver(int gpus) {
  return absl::StrCat("# HELP muster_gpu_driver_up Whether the driver answers\n",
                      "# TYPE muster_gpu_driver_up gauge\nmuster_gpu_driver_up 1\n",
                      "muster_gpu_count ", gpus, "\n");
}
std::string Gpu(int index, double temperature, const std::string& more = "") {
  const std::string labels = absl::StrCat("gpu=\"", index, "\",uuid=\"GPU-", index, "\"");
  return absl::StrCat("muster_gpu_info{", labels, ",model=\"X \\\"Y\\\"\",pci=\"0000:0", index,
                      ":00.0\",driver=\"550\"} 1\nmuster_gpu_lost{", labels,
                      "} 0\nmuster_gpu_temperature_celsius{", labels, "} ", temperature, "\n",
                      absl::StrReplaceAll(more, {{"@", labels}}));
}

class GpuProbeTest : public ::testing::Test, protected HealthTree {
 protected:
  GpuProbeTest() : probe_(MakeGpuProbe(context())) {}

  void Print(const std::string& text) {
    processes.On("muster-burnin metrics", FakeProcessRunner::Prints(text));
  }
  void AddSlot(const std::string& address) {
    const std::string device = "/sys/bus/pci/devices/" + address;
    Write(device + "/vendor", "0x10de\n");
    Write(device + "/class", "0x030200\n");
    Link(device + "/driver", "../../../bus/pci/drivers/nvidia");
  }

  std::unique_ptr<Probe> probe_;
};

TEST_F(GpuProbeTest, WellGpusAreNoTroubleAndHaveNames) {
  Print(Driver(2) + Gpu(0, 40) + Gpu(1, 45));
  EXPECT_THAT(Look(*probe_), IsEmpty());
  EXPECT_EQ(gpus.At("0000:01:00"), "GPU-1");
  EXPECT_EQ(gpus.At("0000:02:00"), "");
  EXPECT_EQ(gpus.At(""), "");
}

TEST_F(GpuProbeTest, EachReadingTurnsItsConditionBad) {
  struct Case {
    const char* line;
    const char* condition;
  };
  for (const Case& c : {
           Case{"muster_gpu_slowed{@,reason=\"thermal\"} 1\n", "gpu_throttle GPU-0"},
           Case{"muster_gpu_slowed{@,reason=\"power_brake\"} 1\n", "gpu_throttle GPU-0"},
           Case{"muster_gpu_remapping_pending{@} 1\n", "gpu_row_remap GPU-0"},
           Case{"muster_gpu_remapping_failed{@} 1\n", "gpu_row_remap_failed GPU-0"},
           Case{"muster_gpu_pcie_width{@} 8\nmuster_gpu_pcie_max_width{@} 16\n",
                "pcie_degraded GPU-0"},
       }) {
    SCOPED_TRACE(c.line);
    Print(Driver(1) + Gpu(0, 40, c.line));
    EXPECT_THAT(Look(*probe_), ElementsAre(c.condition));
  }
  // A power limit that somebody set is no fault.
  Print(Driver(1) + Gpu(0, 40, "muster_gpu_slowed{@,reason=\"power_cap\"} 1\n"));
  EXPECT_THAT(Look(*probe_), IsEmpty());
}

TEST_F(GpuProbeTest, CountersCountFromTheFirstLookOn) {
  const auto print = [this](int errors, int replays) {
    Print(Driver(1) +
          Gpu(0, 40,
              absl::StrCat("muster_gpu_ecc_errors_total{@,kind=\"uncorrected\"} ", errors,
                           "\nmuster_gpu_pcie_replays_total{@} ", replays, "\n")));
  };
  print(3, 100000);
  EXPECT_THAT(Look(*probe_), IsEmpty());
  clock.Advance(absl::Minutes(1));
  print(4, 100480);
  EXPECT_THAT(Look(*probe_), ElementsAre("gpu_ecc GPU-0"));
  clock.Advance(absl::Minutes(1));
  print(4, 100481);
  EXPECT_THAT(Look(*probe_), ElementsAre("gpu_ecc GPU-0", "pcie_replay GPU-0"));
}

TEST_F(GpuProbeTest, TemperaturesAgainstALimitAndAgainstTheOthers) {
  Print(Driver(4) + Gpu(0, 40) + Gpu(1, 42) + Gpu(2, 91) + Gpu(3, 68));
  EXPECT_THAT(Look(*probe_),
              UnorderedElementsAre("gpu_temperature GPU-2", "gpu_temperature GPU-3"));
  // Two are no majority.
  Print(Driver(2) + Gpu(0, 40) + Gpu(1, 80));
  EXPECT_THAT(MakeGpuProbe(context())->Look(limits)->troubles, IsEmpty());
}

TEST_F(GpuProbeTest, GpusThatVanish) {
  Print(Driver(2) + Gpu(0, 40) + Gpu(1, 45));
  EXPECT_THAT(Look(*probe_), IsEmpty());
  Print(Driver(1) + Gpu(0, 40));
  EXPECT_THAT(Look(*probe_), ElementsAre("gpu_lost GPU-1"));
  EXPECT_EQ(gpus.At("0000:01:00"), "GPU-1");
  Print(Driver(2) + Gpu(0, 40) + "muster_gpu_lost{gpu=\"1\",uuid=\"GPU-1\"} 1\n");
  EXPECT_THAT(Look(*probe_), ElementsAre("gpu_lost GPU-1"));
  // Lost before the agent began.
  for (const char* address : {"0000:00:00.0", "0000:01:00.0", "0000:02:00.0"}) AddSlot(address);
  Print(Driver(2) + Gpu(0, 40) + Gpu(1, 45));
  EXPECT_THAT(Look(*MakeGpuProbe(context())), ElementsAre("gpu_lost"));
}

TEST_F(GpuProbeTest, ADriverThatHangsIsBadAndTheRestUnknown) {
  AddSlot("0000:00:00.0");
  processes.On("muster-burnin metrics", {.signal = 9, .timed_out = true});
  const std::vector<std::string> found = Look(*probe_);
  EXPECT_THAT(found, Contains("gpu_driver"));
  EXPECT_THAT(found, Contains("unknown gpu_ecc"));
  EXPECT_THAT(found, Contains("unknown gpu_lost"));
}

TEST_F(GpuProbeTest, ADriverThatDoesNotAnswer) {
  Print("muster_gpu_driver_up 0\nmuster_gpu_count 0\n");
  EXPECT_THAT(Look(*probe_), IsEmpty());  // there is nothing to drive
  AddSlot("0000:00:00.0");
  EXPECT_THAT(Look(*probe_), ElementsAre("gpu_driver"));
}

TEST_F(GpuProbeTest, ANodeWithoutGpusIsLookedAtSeldom) {
  Print("muster_gpu_driver_up 0\nmuster_gpu_count 0\n");
  for (int i = 0; i < 20; ++i) Look(*probe_);
  EXPECT_EQ(processes.commands().size(), 2u);
}

TEST_F(GpuProbeTest, WithoutTheWorkerNothingIsWatched) {
  const auto findings = probe_->Look(limits);
  ASSERT_TRUE(findings.ok());
  EXPECT_THAT(findings->not_watched, Contains("gpu_driver"));
  EXPECT_EQ(findings->not_watched.size(), 9u);
}

TEST(GpuReadings, NonsenseIsLeftOut) {
  for (const char* text : {"", "{", "x{", "x{gpu=\"0\"", "x{gpu=\"0\"}", "x{gpu=\"0\"} many",
                           "x{gpu=\"0\"} nan", "x{gpu=\"0", "x{gpu=\"0\\", " 1", "x"}) {
    EXPECT_THAT(ParseGpuReadings(text).gpus, IsEmpty()) << text;
  }
  std::string many;
  for (int i = 0; i < 1000; ++i) many += Gpu(i, 50);
  EXPECT_EQ(ParseGpuReadings(many).gpus.size(), kMaxGpus);
}

}  // namespace
}  // namespace muster::agent::health
