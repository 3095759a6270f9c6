#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "agent/health/probes/gpu_readings.h"
#include "agent/health/probes/probe.h"
#include "agent/health/xid_inbox.h"
#include "muster/v1/records.pb.h"
#include "tests/unit/agent/health/health_tree.h"

namespace muster::agent::health {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// As muster-burnin prints it.
std::string Driver(int gpus) {
  return absl::StrCat("# HELP muster_gpu_driver_up Whether the driver answers\n",
                      "# TYPE muster_gpu_driver_up gauge\nmuster_gpu_driver_up 1\n",
                      "muster_gpu_count ", gpus, "\n");
}
// `more` stands for the GPU's labels by @.
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

  // As NVIDIA's daemon makes it, which keeps the GPUs initialized.
  void StartPersistenced() { Write("/run/nvidia-persistenced/socket", ""); }

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
           Case{"muster_gpu_fabric_trouble{@,kind=\"not_ready\"} 1\n", "gpu_fabric GPU-0"},
           Case{"muster_gpu_fabric_trouble{@,kind=\"error\"} 1\n", "gpu_fabric GPU-0"},
           Case{"muster_gpu_fabric_trouble{@,kind=\"unhealthy\"} 1\n", "gpu_fabric GPU-0"},
           Case{"muster_gpu_nvlinks_up{@} 17\nmuster_gpu_nvlinks_missing{@} 1\n",
                "nvlink_down GPU-0"},
           Case{"muster_gpu_memory_temperature_celsius{@} 96\n", "gpu_memory_temperature GPU-0"},
           Case{"muster_gpu_memory_temperature_celsius{@} 86\n"
                "muster_gpu_memory_temperature_limit_celsius{@} 85\n",
                "gpu_memory_temperature GPU-0"},
       }) {
    SCOPED_TRACE(c.line);
    Print(Driver(1) + Gpu(0, 40, c.line));
    EXPECT_THAT(Look(*probe_), ElementsAre(c.condition));
  }
  // A power limit that somebody set is no fault, and neither is a consumer card's target.
  for (const char* reason : {"power_cap", "thermal_target"}) {
    Print(Driver(1) + Gpu(0, 40, absl::StrCat("muster_gpu_slowed{@,reason=\"", reason, "\"} 1\n")));
    EXPECT_THAT(Look(*probe_), IsEmpty()) << reason;
  }
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

TEST_F(GpuProbeTest, TheDriversLimitOfTheMemoryComesBeforeTheSites) {
  Print(Driver(1) + Gpu(0, 40,
                        "muster_gpu_memory_temperature_celsius{@} 100\n"
                        "muster_gpu_memory_temperature_limit_celsius{@} 105\n"));
  EXPECT_THAT(Look(*probe_), IsEmpty());
}

TEST_F(GpuProbeTest, ALinkToABridgeIsMissedOnceItWasUp) {
  const auto print = [this](int up) {
    Print(Driver(1) + Gpu(0, 40,
                          absl::StrCat("muster_gpu_nvlinks_up{@} ", up,
                                       "\nmuster_gpu_nvlinks_missing{@} 0\n")));
  };
  print(0);
  EXPECT_THAT(Look(*probe_), IsEmpty());
  print(2);
  EXPECT_THAT(Look(*probe_), IsEmpty());
  print(1);
  EXPECT_THAT(Look(*probe_), ElementsAre("nvlink_down GPU-0"));
  print(2);
  EXPECT_THAT(Look(*probe_), IsEmpty());
}

// MIG mode switches NVLinks off.
TEST_F(GpuProbeTest, LinksAreNotMissedInMigModeNorWhatWasUpBefore) {
  const auto print = [this](int mig, int up) {
    Print(Driver(1) + Gpu(0, 40,
                          absl::StrCat("muster_gpu_mig{@} ", mig, "\nmuster_gpu_nvlinks_up{@} ", up,
                                       "\nmuster_gpu_nvlinks_missing{@} 0\n")));
  };
  for (const auto& [mig, up] : {std::pair(0, 12), std::pair(1, 0), std::pair(0, 0)}) {
    print(mig, up);
    EXPECT_THAT(Look(*probe_), IsEmpty());
  }
  print(0, 12);
  EXPECT_THAT(Look(*probe_), IsEmpty());
  print(0, 11);
  EXPECT_THAT(Look(*probe_), ElementsAre("nvlink_down GPU-0"));
}

TEST_F(GpuProbeTest, ErrorsThatNvlinksRepairAreWeighedByADay) {
  const auto print = [this](int up, int replays, int recoveries) {
    Print(Driver(1) +
          Gpu(0, 40,
              absl::StrCat("muster_gpu_nvlinks_up{@} ", up,
                           "\nmuster_gpu_nvlink_errors_total{@,kind=\"replay\"} ", replays,
                           "\nmuster_gpu_nvlink_errors_total{@,kind=\"recovery\"} ", recoveries,
                           "\n")));
  };
  print(2, 5000, 505);
  EXPECT_THAT(Look(*probe_), IsEmpty());
  clock.Advance(absl::Minutes(1));
  print(2, 5050, 507);  // 50 and twice 25
  EXPECT_THAT(Look(*probe_), IsEmpty());
  clock.Advance(absl::Hours(2));
  print(2, 5051, 507);
  EXPECT_THAT(Look(*probe_), ElementsAre("nvlink_replay GPU-0"));
  // With one link less the sums are others, and are no growth.
  clock.Advance(absl::Hours(25));
  print(2, 5051, 507);
  EXPECT_THAT(Look(*probe_), IsEmpty());
  print(1, 3000, 400);
  EXPECT_THAT(Look(*probe_), ElementsAre("nvlink_down GPU-0"));
  print(2, 5051, 507);
  EXPECT_THAT(Look(*probe_), IsEmpty());
}

TEST_F(GpuProbeTest, ACounterThatIsForgottenCountsAnew) {
  const auto print = [this](int errors) {
    Print(Driver(1) +
          Gpu(0, 40,
              absl::StrCat("muster_gpu_ecc_errors_total{@,kind=\"uncorrected\"} ", errors, "\n")));
  };
  print(0);
  Look(*probe_);
  print(1);
  EXPECT_THAT(Look(*probe_), ElementsAre("gpu_ecc GPU-0"));
  trends.Forget([](absl::string_view name) { return IsCounterOf(name, "gpu_ecc", "GPU-1"); });
  EXPECT_THAT(Look(*probe_), ElementsAre("gpu_ecc GPU-0"));
  trends.Forget([](absl::string_view name) { return IsCounterOf(name, "gpu_ecc", "GPU-0"); });
  EXPECT_THAT(Look(*probe_), IsEmpty());
  print(2);
  EXPECT_THAT(Look(*probe_), ElementsAre("gpu_ecc GPU-0"));
}

TEST_F(GpuProbeTest, TemperaturesAgainstALimitAndAgainstTheOthers) {
  const std::string busy = "muster_gpu_utilization_ratio{@} 0.9\n";
  Print(Driver(4) + Gpu(0, 40, busy) + Gpu(1, 42, busy) + Gpu(2, 91, busy) + Gpu(3, 68, busy));
  EXPECT_THAT(Look(*probe_),
              UnorderedElementsAre("gpu_temperature GPU-2", "gpu_temperature GPU-3"));
  // Two are no majority.
  Print(Driver(2) + Gpu(0, 40, busy) + Gpu(1, 80, busy));
  EXPECT_THAT(Look(*MakeGpuProbe(context())), IsEmpty());
}

// One GPU works, and the others rest.
TEST_F(GpuProbeTest, TemperaturesAreComparedAmongThoseThatWorkAsHard) {
  const auto working = [](double use, double watts) {
    return absl::StrCat("muster_gpu_utilization_ratio{@} ", use, "\nmuster_gpu_power_watts{@} ",
                        watts, "\nmuster_gpu_power_limit_watts{@} 400\n");
  };
  const std::string rests = working(0, 60), works = working(1, 390), polls = working(1, 120);
  for (const std::string& others : {rests, polls, std::string()}) {
    SCOPED_TRACE(others);
    Print(Driver(3) + Gpu(0, 80, works) + Gpu(1, 40, others) + Gpu(2, 41, others));
    EXPECT_THAT(Look(*probe_), IsEmpty());
  }
  Print(Driver(3) + Gpu(0, 80, works) + Gpu(1, 40, works) + Gpu(2, 41, works));
  EXPECT_THAT(Look(*probe_), ElementsAre("gpu_temperature GPU-0"));
  // Another model may be cooler.
  const auto of_model_z = [](std::string text) {
    return absl::StrReplaceAll(text, {{"X \\\"Y\\\"", "Z"}});
  };
  Print(Driver(3) + Gpu(0, 80, works) + of_model_z(Gpu(1, 40, works)) + Gpu(2, 41, works));
  EXPECT_THAT(Look(*probe_), IsEmpty());
  // Without a utilization, the power says who works.
  const std::string power = "muster_gpu_power_watts{@} 390\nmuster_gpu_power_limit_watts{@} 400\n";
  Print(Driver(3) + Gpu(0, 80, power) + Gpu(1, 40, power) + Gpu(2, 41, power));
  EXPECT_THAT(Look(*probe_), ElementsAre("gpu_temperature GPU-0"));
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

// It has no driver at all then.
TEST_F(GpuProbeTest, ACardThatFailedTheDriversProbeIsNamed) {
  for (const char* address : {"0000:00:00.0", "0000:01:00.0"}) {
    AddSlot(address);
    Write(absl::StrCat("/sys/bus/pci/devices/", address, "/device"), "0x2330\n");
  }
  const std::string dead = "/sys/bus/pci/devices/0000:02:00.0";
  Write(dead + "/vendor", "0x10de\n");
  Write(dead + "/class", "0x030200\n");
  Write(dead + "/device", "0x1287\n");
  Print(Driver(2) + Gpu(0, 40) + Gpu(1, 45));
  EXPECT_THAT(Look(*probe_), IsEmpty()) << "too old for the driver of the others, it may be";
  Write(dead + "/device", "0x2330\n");
  const auto findings = probe_->Look(limits);
  EXPECT_THAT(Names(findings), ElementsAre("gpu_lost"));
  EXPECT_THAT(findings->troubles[0].evidence, HasSubstr("0000:02:00.0"));
  // It is to be a virtual machine's.
  Write(dead + "/driver_override", "vfio-pci\n");
  EXPECT_THAT(Look(*probe_), IsEmpty());
  Write(dead + "/driver_override", "(null)\n");
  EXPECT_THAT(Look(*probe_), ElementsAre("gpu_lost"));
  Link(dead + "/driver", "../../../bus/pci/drivers/vfio-pci");
  EXPECT_THAT(Look(*probe_), IsEmpty());
}

TEST_F(GpuProbeTest, AFunctionForAVirtualMachineIsNoCard) {
  const std::string card = "0000:01:00.0", functions[] = {"0000:01:00.4", "0000:01:00.5"};
  AddSlot(card);
  Write("/sys/bus/pci/devices/" + card + "/device", "0x2330\n");
  for (const std::string& function : functions) {
    const std::string device = "/sys/bus/pci/devices/" + function;
    Write(device + "/vendor", "0x10de\n");
    Write(device + "/class", "0x030200\n");
    Write(device + "/device", "0x2330\n");
    Link(device + "/physfn", "../" + card);
  }
  Print(Driver(1) + Gpu(1, 40));
  EXPECT_THAT(Look(*probe_), IsEmpty());
  Link("/sys/bus/pci/devices/" + functions[0] + "/driver", "../../../bus/pci/drivers/nvidia");
  EXPECT_THAT(Look(*probe_), IsEmpty());
}

// A driver without persistence initializes its GPUs at each look.
TEST_F(GpuProbeTest, EachGpuHasItsTime) {
  const ProbeSpec* row = nullptr;
  const std::vector<ProbeSpec> rows = MakeProbes(context());
  for (const ProbeSpec& each : rows)
    if (each.name == "gpus") row = &each;
  ASSERT_NE(row, nullptr);
  for (int i = 0; i < 8; ++i) AddSlot(absl::StrCat("0000:0", i, ":00.0"));
  Print("muster_gpu_driver_up 0\n");
  Look(*probe_);
  EXPECT_EQ(processes.specs().back().timeout, absl::Seconds(120));
  for (int i = 10; i < 40; ++i) AddSlot(absl::StrCat("0000:", i, ":00.0"));
  Look(*probe_);
  EXPECT_LT(processes.specs().back().timeout, row->time_limit);
  // One that keeps them initialized answers at once, or hangs.
  StartPersistenced();
  Look(*probe_);
  EXPECT_EQ(processes.specs().back().timeout, absl::Seconds(40));
}

TEST_F(GpuProbeTest, ADriverThatInitializesItsGpusAtEachCallIsSlowRatherThanBad) {
  AddSlot("0000:00:00.0");
  processes.On("muster-burnin metrics", {.signal = 9, .timed_out = true});
  EXPECT_THAT(Look(*probe_), Contains("unknown gpu_driver"));
  // The GPUs' own word counts more than the daemon's.
  for (const int mode : {1, 0}) {
    if (mode == 0) StartPersistenced();
    Print(Driver(1) + Gpu(0, 40, absl::StrCat("muster_gpu_persistence{@} ", mode, "\n")));
    EXPECT_THAT(Look(*probe_), IsEmpty());
    processes.On("muster-burnin metrics", {.signal = 9, .timed_out = true});
    EXPECT_THAT(Look(*probe_), Contains(mode == 1 ? "gpu_driver" : "unknown gpu_driver"));
  }
}

TEST_F(GpuProbeTest, ADriverThatHangsIsBadAndTheRestUnknown) {
  StartPersistenced();
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
  const std::vector<std::string> found = Look(*probe_);
  EXPECT_THAT(found, Contains("gpu_driver"));
  EXPECT_THAT(found, Contains("unknown gpu_ecc")) << "nothing may be resumed by that";
  EXPECT_EQ(found.size(), 13u);
}

TEST_F(GpuProbeTest, ADriverThatABootDidNotLoadIsMissed) {
  const std::string slots = "/sys/bus/pci/devices/", card = "0000:00:00.0";
  AddSlot(card);
  Write(slots + card + "/device", "0x2330\n");
  Print(Driver(1) + Gpu(0, 40));
  EXPECT_THAT(Look(*probe_), IsEmpty());
  v1::HealthRecord record;
  trends.Save(record);
  trends.Load(record, /*same_boot=*/false);
  std::filesystem::remove(root() + slots + card + "/driver");
  Print(
      "muster_gpu_driver_up 0\n# muster_gpu_driver_up is 0: nvmlInit_v2: driver not loaded (9)\n");
  EXPECT_THAT(Look(*probe_), Contains("gpu_driver")) << "it was loaded, and is not any more";
  const std::unique_ptr<Probe> next = MakeGpuProbe(context());
  for (int minute = 0; minute < 10; ++minute)
    EXPECT_THAT(Look(*next), Contains("unknown gpu_driver")) << "it may still be built";
  const auto findings = next->Look(limits);
  EXPECT_THAT(Names(findings), Contains("gpu_driver"));
  EXPECT_THAT(Names(findings), Contains("unknown gpu_lost"));
  EXPECT_THAT(findings->troubles[0].evidence, HasSubstr("not loaded: nvmlInit_v2"));
  // The cards are somebody else's now.
  Write(slots + card + "/driver_override", "vfio-pci\n");
  EXPECT_THAT(Look(*MakeGpuProbe(context())), IsEmpty());
  Write(slots + card + "/driver_override", "(null)\n");
  Link(slots + card + "/driver", "../../../bus/pci/drivers/vfio-pci");
  EXPECT_THAT(Look(*MakeGpuProbe(context())), IsEmpty());
  // The driver never had a card of this model.
  std::filesystem::remove(root() + slots + card + "/driver");
  Write(slots + card + "/device", "0x1287\n");
  EXPECT_THAT(Look(*MakeGpuProbe(context())), IsEmpty());
}

TEST_F(GpuProbeTest, ACardThatTheDriverNoLongerTakesIsNotMissedBesideOthers) {
  const std::string slots = "/sys/bus/pci/devices/";
  for (const char* address : {"0000:00:00.0", "0000:01:00.0"}) AddSlot(address);
  Write(slots + "0000:00:00.0/device", "0x2330\n");
  Write(slots + "0000:01:00.0/device", "0x1287\n");
  Print(Driver(2) + Gpu(0, 40) + Gpu(1, 45));
  EXPECT_THAT(Look(*probe_), IsEmpty());
  std::filesystem::remove(root() + slots + "0000:01:00.0/driver");
  Print(Driver(1) + Gpu(0, 40));
  EXPECT_THAT(Look(*MakeGpuProbe(context())), IsEmpty()) << "too old for the new driver";
}

TEST_F(GpuProbeTest, ADriverThatDoesNotAnswerSaysWhy) {
  AddSlot("0000:00:00.0");
  Print("muster_gpu_driver_up 0\n# muster_gpu_driver_up is 0: nvmlInit_v2: mismatch (18)\n");
  const auto findings = probe_->Look(limits);
  EXPECT_THAT(Names(findings), Contains("gpu_driver"));
  EXPECT_THAT(findings->troubles[0].evidence,
              HasSubstr("is loaded and does not answer: nvmlInit_v2: mismatch (18)"));
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
  EXPECT_EQ(findings->not_watched.size(), 13u);
}

class XidProbeTest : public ::testing::Test, protected HealthTree {
 protected:
  XidProbeTest() : spec_(MakeXidProbe(context(), inbox_)) {}

  std::shared_ptr<XidInbox> inbox_ = std::make_shared<XidInbox>();
  ProbeSpec spec_;
};

TEST_F(XidProbeTest, LinesOfTheDriverGoIntoTheInboxAndNothingElse) {
  processes.On(
      "muster-burnin xids",
      FakeProcessRunner::Prints("listening to 2 GPUs\nNVRM: Xid (PCI:0000:3b:00): 79, told by "
                                "NVML\nsomething else\n"));
  EXPECT_THAT(Look(*spec_.probe), IsEmpty());
  EXPECT_TRUE(inbox_->is_listening());
  EXPECT_THAT(inbox_->Take(), ElementsAre("NVRM: Xid (PCI:0000:3b:00): 79, told by NVML"));
  EXPECT_THAT(inbox_->Take(), IsEmpty());
  ASSERT_EQ(processes.specs().size(), 1u);
  EXPECT_TRUE(processes.specs()[0].die_with_parent);
  EXPECT_LT(processes.specs()[0].timeout, spec_.time_limit);
}

TEST_F(XidProbeTest, ADriverThatTellsNothingIsSeldomAskedAgain) {
  processes.On("muster-burnin xids", FakeProcessRunner::Prints("listening to 1 GPU\n"));
  Look(*spec_.probe);
  processes.On("muster-burnin xids", FakeProcessRunner::Prints("", 1));
  for (int i = 0; i < 21; ++i) Look(*spec_.probe);
  EXPECT_FALSE(inbox_->is_listening());
  EXPECT_EQ(processes.commands().size(), 4u);
}

TEST_F(XidProbeTest, TheInboxIsBounded) {
  int woken = 0;
  inbox_->SetWake([&woken] { ++woken; });
  for (size_t i = 0; i < XidInbox::kMaxLines + 10; ++i) inbox_->Add("NVRM: Xid");
  EXPECT_EQ(inbox_->Take().size(), XidInbox::kMaxLines);
  EXPECT_GT(woken, 0);
}

TEST(GpuReadings, ConditionsHaveTheirCounters) {
  for (const char* object : {"", "GPU-0"}) {
    EXPECT_TRUE(IsCounterOf("gpu/GPU-0/ecc_uncorrected", "gpu_ecc", object));
    EXPECT_TRUE(IsCounterOf("gpu/GPU-0/nvlink_recovery/18", "nvlink_replay", object));
    EXPECT_FALSE(IsCounterOf("gpu/GPU-0/ecc_uncorrected", "nvlink_replay", object));
    EXPECT_FALSE(IsCounterOf("gpu/GPU-0/pcie_replays", "gpu_ecc", object));
    EXPECT_FALSE(IsCounterOf("nic/eth0/rx_errors", "gpu_ecc", object));
  }
  EXPECT_FALSE(IsCounterOf("gpu/GPU-01/ecc_uncorrected", "gpu_ecc", "GPU-0"));
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
