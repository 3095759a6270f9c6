#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/burnin/check.h"
#include "agent/burnin/runners.h"
#include "agent/burnin/system/memory_bandwidth.h"
#include "agent/burnin/tool.h"
#include "common/base/clock.h"
#include "common/checks/catalog.h"
#include "common/sys/process/process.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fakes/quiet_reporter.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::burnin {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SystemChecks : public ::testing::Test {
 protected:
  CheckResult Run(const char* name, const std::map<std::string, std::string>& given = {}) {
    const checks::CheckSpec& spec = *checks::FindCheck(name);
    const checks::Parameters parameters = checks::Parameters::Parse(spec, given).value();
    CheckContext context = {parameters, reporter_, clock_, files_, processes_};
    for (const CheckRunner& runner : SystemRunners()) {
      if (runner.name != name) continue;
      CheckResult result = runner.run(context);
      FinishResult(spec, result);
      return result;
    }
    ADD_FAILURE() << "no runner of " << name;
    return {};
  }

  muster::testing::QuietReporter reporter_;
  muster::testing::FakeClock clock_;
  muster::testing::FakeFileSystem files_;
  FakeProcessRunner processes_;
};

TEST_F(SystemChecks, MissingToolIsUnknownWithItsPackage) {
  files_.AddFile("/proc/self/mounts", "/dev/sda1 /data ext4 rw 0 0\n");
  const struct {
    const char* check;
    const char* package;
  } cases[] = {{"cpu-stress", "stress-ng"},
               {"memory-stress", "stress-ng"},
               {"disk", "fio"},
               {"clock", "chrony"},
               {"machine-errors", "util-linux"}};
  for (const auto& c : cases) {
    std::map<std::string, std::string> given;
    if (std::string(c.check) == "disk") given["paths"] = "/data";
    const CheckResult result = Run(c.check, given);
    EXPECT_EQ(result.outcome, Outcome::kUnknown) << c.check;
    EXPECT_THAT(result.reason,
                AllOf(Said(), HasSubstr(std::string("install the package ") + c.package)));
  }
}

TEST_F(SystemChecks, NoPathsIsSkipped) {
  EXPECT_EQ(Run("disk").outcome, Outcome::kSkipped);
  EXPECT_EQ(Run("file-systems").outcome, Outcome::kSkipped);
}

TEST_F(SystemChecks, ClockThatIsOffFails) {
  processes_.On("chronyc -c tracking",
                FakeProcessRunner::Prints("A9FEA97B,ntp,2,0,0.2,0,0,0,0,0,0.01,0.01,64,Normal\n"));
  const CheckResult result = Run("clock", {{"max-offset", "10ms"}});
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_EQ(result.faults.at(0).code, "clock_offset");
  EXPECT_EQ(Run("clock", {{"max-offset", "1s"}}).outcome, Outcome::kPass);
}

TEST_F(SystemChecks, ClockMayTakeAWhileToFollowAServer) {
  const absl::Time boot = clock_.Now();
  processes_.On("chronyc -c tracking", [&](const sys::ProcessSpec&) {
    return FakeProcessRunner::Prints(
        clock_.Now() - boot < absl::Seconds(8)
            ? "00000000,,0,0,0,0,0,0,0,0,1,1,0,Not synchronised\n"
            : "0A4D010B,login1,11,0,0.001,0,0,0,0,0,0.01,0.01,64,Normal\n");
  });
  EXPECT_EQ(Run("clock").outcome, Outcome::kPass);
  EXPECT_GE(clock_.Now() - boot, absl::Seconds(8));
  EXPECT_LT(clock_.Now() - boot, absl::Seconds(10));
}

TEST_F(SystemChecks, ClockThatFollowsNobodyFails) {
  const absl::Time start = clock_.Now();
  processes_.On("chronyc -c tracking",
                FakeProcessRunner::Prints("00000000,,0,0,0,0,0,0,0,0,1,1,0,Not synchronised\n"));
  const CheckResult result = Run("clock", {{"wait", "5s"}});
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_EQ(result.faults.at(0).code, "clock_unsynchronised");
  EXPECT_EQ(clock_.Now() - start, absl::Seconds(5));
}

TEST_F(SystemChecks, ChronyThatIsNotRunningIsUnknown) {
  processes_.On("chronyc", FakeProcessRunner::Prints("506 Cannot talk to daemon\n", 1));
  const CheckResult result = Run("clock");
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.reason, Said());
}

TEST_F(SystemChecks, WrongResultOfStressNgFailsWithItsLine) {
  processes_.On("stress-ng --cpu 0",
                FakeProcessRunner::Prints("stress-ng: fail:  [12] cpu: fft error detected\n"
                                          "stress-ng: metrc: [12] cpu 10 1.0 1.0 0.0 10.0 10.0\n",
                                          2));
  const CheckResult result = Run("cpu-stress", {{"duration", "5s"}});
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_EQ(result.faults.at(0).code, "wrong_result");
  EXPECT_THAT(result.faults.at(0).message, Said());
  EXPECT_EQ(result.faults.at(0).evidence.size(), 1u);
  EXPECT_EQ(result.metrics.at(0).value, 10);
}

// Another version counts its operations differently, and must not be compared with this one.
TEST_F(SystemChecks, StressNgIsNamedWithItsVersion) {
  processes_.On("stress-ng --cpu 0",
                FakeProcessRunner::Prints("stress-ng: metrc: [12] cpu 10 1.0 1.0 0.0 10.0 10.0\n"));
  processes_.On("stress-ng --version",
                FakeProcessRunner::Prints("stress-ng, version 0.15.06 (gcc 12.2.0)\n"));
  EXPECT_THAT(Run("cpu-stress").tools, ::testing::ElementsAre("stress-ng 0.15.06"));
  processes_.On("stress-ng --version", FakeProcessRunner::Prints("?\n"));
  EXPECT_THAT(Run("cpu-stress").tools, ::testing::ElementsAre("stress-ng"));
}

// Nobody would end a program that outlives its worker.
TEST_F(SystemChecks, ProgramsDieWithTheWorker) {
  processes_.On("stress-ng", FakeProcessRunner::Prints(""));
  processes_.On("fio", FakeProcessRunner::Prints(""));
  Run("cpu-stress");
  Run("memory-stress");
  Run("disk", {{"paths", "/data"}});
  ASSERT_EQ(processes_.specs().size(), 5u);  // stress-ng also says its version
  for (const sys::ProcessSpec& spec : processes_.specs()) EXPECT_TRUE(spec.die_with_parent);
  // Threads, not processes, which would live on.
  EXPECT_THAT(processes_.specs().back().argv, ::testing::Contains("--thread"));
}

TEST_F(SystemChecks, StressNgThatDiesIsUnknown) {
  processes_.On("stress-ng", FakeProcessRunner::Prints("stress-ng: error: no memory\n", 3));
  const CheckResult result = Run("memory-stress");
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.reason, Said());
}

TEST_F(SystemChecks, WorkersThatMemoryRanOutForAreNoPass) {
  const std::string rate = "stress-ng: metrc: [1] vm 409 6.1 0.1 0.3 66.7 1007.4\n";
  processes_.On("stress-ng",
                FakeProcessRunner::Prints(absl::StrCat(
                    "stress-ng: debug: [9] vm: assuming killed by OOM killer, bailing out\n"
                    "stress-ng: warn:  [9] vm: WARNING: finished prematurely after just 1.10s\n",
                    rate)));
  CheckResult result = Run("memory-stress");
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.reason, Said());
  EXPECT_THAT(processes_.commands(), ::testing::Contains(HasSubstr(" --oomable ")));
  processes_.On(
      "stress-ng",
      FakeProcessRunner::Prints(absl::StrCat(
          "stress-ng: warn:  [9] vm: WARNING: finished prematurely after just 1.10s\n", rate)));
  result = Run("memory-stress");
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.reason, Said());
  processes_.On("stress-ng", FakeProcessRunner::Prints(rate));
  EXPECT_EQ(Run("memory-stress").outcome, Outcome::kPass);
}

// Files that were read fill the memory of a node in time, and stress-ng tests what is free.
TEST_F(SystemChecks, MemoryIsFreedOfFilesBeforeItIsTested) {
  const std::string total = "MemTotal:       1048576 kB\nMemFree:         ";
  files_.AddFile("/proc/sys/vm/drop_caches", "0\n");
  files_.AddFile("/proc/meminfo", absl::StrCat(total, "838860 kB\nMemAvailable:  900000 kB\n"));
  std::string dropped;
  processes_.On("stress-ng", [&](const sys::ProcessSpec&) {
    dropped = *files_.Read("/proc/sys/vm/drop_caches");
    return FakeProcessRunner::Prints("stress-ng: metrc: [1] vm 409 6.1 0.1 0.3 66.7 1007.4\n");
  });
  CheckResult result = Run("memory-stress", {{"fraction", "0.5"}});
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(dropped, "1\n");
  ASSERT_EQ(result.metrics.size(), 2u);
  EXPECT_EQ(result.metrics[1].name, "memory_tested_bytes");
  EXPECT_EQ(result.metrics[1].value, 838860.0 * 1024 / 2);
  // Less than half of what there is.
  files_.AddFile("/proc/meminfo", absl::StrCat(total, "500000 kB\n"));
  result = Run("memory-stress");
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_EQ(result.metrics[1].value, 500000.0 * 1024 * 0.8);
  // A container leaves the memory of its host alone.
  files_.AddFile("/run/systemd/container", "systemd-nspawn\n");
  files_.AddFile("/proc/sys/vm/drop_caches", "0\n");
  result = Run("memory-stress");
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(dropped, "0\n");
}

TEST_F(SystemChecks, FioMeasuresEveryPatternAndFileSystem) {
  processes_.On("fio", FakeProcessRunner::Prints(
                           R"({"jobs":[{"error":0,"read":{"bw_bytes":5000000,"iops":7},)"
                           R"("write":{"bw_bytes":4000000,"iops":6}}]})"));
  const CheckResult result = Run("disk", {{"paths", "/data,/scratch"}});
  EXPECT_EQ(result.outcome, Outcome::kPass);
  EXPECT_EQ(processes_.commands().size(), 8u);
  EXPECT_EQ(result.metrics.size(), 24u);
  EXPECT_EQ(result.metrics.at(0).variant, "sequential_write");
  EXPECT_EQ(result.metrics.at(0).value, 4);
}

// fio 3.33's output, including the JSON.
TEST_F(SystemChecks, FioThatFailsIsToldInItsOwnWords) {
  const std::string line = "fio: io_u error on file /data/x: ";
  const auto run = [&](int error, const std::string& words) {
    processes_.On(
        "fio", FakeProcessRunner::Prints(
                   absl::StrCat(line, words, ": write offset=4194304\n", "fio: pid=1, err=", error,
                                ", error=", words, "\n{\n  \"jobs\" : [\n    {\"error\" : ", error,
                                ", \"write\" : {}}\n  ]\n}\n"),
                   1));
    return Run("disk", {{"paths", "/data"}});
  };
  const CheckResult full = run(ENOSPC, "No space left on device");
  EXPECT_EQ(full.outcome, Outcome::kUnknown);
  EXPECT_THAT(full.reason, Said());
  EXPECT_THAT(full.reason, Not(HasSubstr("}")));
  const CheckResult broken = run(EIO, "Input/output error");
  EXPECT_EQ(broken.outcome, Outcome::kFail);
  ASSERT_EQ(broken.faults.size(), 1u);
  EXPECT_EQ(broken.faults[0].code, "io_error");
  EXPECT_THAT(broken.faults[0].message, Said());
}

// ENODATA is what an NVMe drive answers for a sector that it cannot read.
TEST_F(SystemChecks, EachErrorOfTheBlockLayerIsTheDisks) {
  for (const int error : {EIO, ENODATA, EREMOTEIO, EILSEQ, ENOLINK, ETIMEDOUT}) {
    processes_.On("fio", FakeProcessRunner::Prints(
                             absl::StrCat(R"({"jobs":[{"error":)", error, R"(,"write":{}}]})"), 1));
    const CheckResult result = Run("disk", {{"paths", "/data"}});
    EXPECT_EQ(result.outcome, Outcome::kFail) << error;
    ASSERT_EQ(result.faults.size(), 1u) << error;
    EXPECT_EQ(result.faults[0].code, "io_error") << error;
  }
}

TEST_F(SystemChecks, MountThatIsMissingOrReadOnlyFails) {
  files_.AddFile("/proc/self/mounts", "/dev/a /tmp tmpfs ro 0 0\n");
  files_.AddDirectory("/tmp");
  files_.FailWrites("*", absl::PermissionDeniedError("Read-only file system"));
  const CheckResult result = Run("file-systems", {{"paths", "/tmp,/scratch"}});
  EXPECT_EQ(result.outcome, Outcome::kFail);
  ASSERT_EQ(result.faults.size(), 2u);
  EXPECT_EQ(result.faults[0].code, "read_only");
  EXPECT_EQ(result.faults[1].code, "not_mounted");
}

TEST_F(SystemChecks, WritableMountPassesAndIsLeftClean) {
  files_.AddFile("/proc/self/mounts", "/dev/a /tmp ext4 rw 0 0\n");
  files_.AddDirectory("/tmp");
  const CheckResult result = Run("file-systems", {{"paths", "/tmp"}});
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_TRUE(files_.List("/tmp")->empty());
  EXPECT_EQ(files_.log().size(), 2u);
}

// dmesg's output about a boot, and later about a GPU.
constexpr char kBoot[] = "[    0.000000] Linux version 6.1.0-37-amd64\n";
constexpr char kLost[] = "[   40.250000] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>'\n";
constexpr char kBurst[] = "[59180.565926] br0: port 3(v3) entered blocking state\n";

TEST_F(SystemChecks, MemoryErrorsAndKernelLogFail) {
  files_.AddFile("/sys/devices/system/edac/mc/mc0/ce_count", "12\n");
  files_.AddFile("/sys/devices/system/edac/mc/mc0/ue_count", "1\n");
  files_.AddFile("/proc/interrupts", " MCE: 0 0 Machine check exceptions\n");
  processes_.On("dmesg", FakeProcessRunner::Prints(absl::StrCat(kBoot, kLost)));
  const CheckResult result = Run("machine-errors");
  EXPECT_EQ(result.outcome, Outcome::kFail);
  ASSERT_EQ(result.faults.size(), 2u);
  EXPECT_EQ(result.faults[0].code, "memory_uncorrected");
  EXPECT_THAT(result.faults[1].message, Said());
  EXPECT_EQ(result.metrics.at(0).value, 12);
}

TEST_F(SystemChecks, CorrectedErrorsAndBugsOfJobsPass) {
  processes_.On("dmesg", FakeProcessRunner::Prints(
                             "[    0.000000] Linux version 6.1.0-37-amd64\n"
                             "EDAC MC: Ver: 3.0.0\n"
                             "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0 (channel:1)\n"
                             "NVRM: GPU at PCI:0000:3b:00: GPU-6a3e1f04\n"
                             "NVRM: Xid (PCI:0000:3b:00): 31, pid=4187, name=python3, MMU Fault\n"
                             "NVRM: Xid (PCI:0000:3b:00): 45, pid=4187, name=python3, Ch 8\n"));
  const CheckResult result = Run("machine-errors");
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  std::map<std::string, double> values;
  for (const Metric& metric : result.metrics) values[metric.name] = metric.value;
  EXPECT_EQ(values.at("kernel_log_errors"), 0);
  EXPECT_EQ(values.at("kernel_log_corrected"), 1);
  EXPECT_EQ(values.at("gpu_application_errors"), 2);
}

// A burst has pushed the GPU's error out of the kernel's buffer.
TEST_F(SystemChecks, LogThatLostItsBeginningIsReadFromTheJournal) {
  processes_.On("dmesg", FakeProcessRunner::Prints(kBurst));
  processes_.On("journalctl --dmesg --boot --output=short-monotonic",
                FakeProcessRunner::Prints("[    0.000000] c1 kernel: Linux version 6.1.0\n"
                                          "[   40.250000] c1 kernel: NVRM: Xid "
                                          "(PCI:0000:3b:00): 79, pid='<unknown>'\n"));
  const CheckResult result = Run("machine-errors");
  EXPECT_EQ(result.outcome, Outcome::kFail);
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].code, "kernel_log");
  // Nothing is missing, so nothing is unknown.
  EXPECT_THAT(result.reason, Not(HasSubstr("incomplete")));
  processes_.On("journalctl", FakeProcessRunner::Prints(""));
  processes_.On("journalctl --dmesg --boot --output=short-monotonic",
                FakeProcessRunner::Prints("[    0.000000] c1 kernel: Linux version 6.1.0\n"));
  EXPECT_EQ(Run("machine-errors").outcome, Outcome::kPass);
}

TEST_F(SystemChecks, LogWhoseBeginningNobodyHasIsUnknown) {
  processes_.On("dmesg", FakeProcessRunner::Prints(kBurst));
  CheckResult result = Run("machine-errors");  // no journalctl
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.reason, Said());
  EXPECT_THAT(result.reason, Said());
  processes_.On("journalctl", FakeProcessRunner::Prints("[ 5000.000000] c1 kernel: rotated\n"));
  EXPECT_EQ(Run("machine-errors").outcome, Outcome::kUnknown);
  processes_.On("journalctl", FakeProcessRunner::Prints(absl::StrCat(kBoot), 1));
  EXPECT_EQ(Run("machine-errors").outcome, Outcome::kUnknown);
  // Somebody has cleared the buffer.
  processes_.On("dmesg", FakeProcessRunner::Prints(""));
  EXPECT_THAT(Run("machine-errors").reason, Said());
  // The lines that exist count nevertheless.
  processes_.On("dmesg", FakeProcessRunner::Prints(absl::StrCat(kBurst, kLost)));
  EXPECT_EQ(Run("machine-errors").outcome, Outcome::kFail);
  // A container has no other log.
  files_.AddFile("/run/systemd/container", "systemd-nspawn\n");
  processes_.On("dmesg", FakeProcessRunner::Prints(kBurst));
  EXPECT_EQ(Run("machine-errors").outcome, Outcome::kPass);
}

TEST_F(SystemChecks, XidThatNobodyKnowsIsUnknown) {
  processes_.On("dmesg", FakeProcessRunner::Prints(absl::StrCat(
                             kBoot, "[   40.250000] NVRM: Xid (PCI:0000:3b:00): 999, pid=4187\n")));
  const CheckResult result = Run("machine-errors");
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.reason, Said());
}

TEST_F(SystemChecks, ToolEndsWhenTheCheckIsToStop) {
  const checks::Parameters parameters =
      checks::Parameters::Parse(*checks::FindCheck("clock"), {}).value();
  RealClock clock;
  sys::RealProcessRunner processes;
  reporter_.stop = true;
  CheckContext context = {parameters, reporter_, clock, files_, processes};
  const auto result = RunTool(context, {"sleep", "600"}, absl::Minutes(11), "coreutils");
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->stopped);
}

TEST(MemoryBandwidth, IsMeasuredAndChecked) {
  RealClock clock;
  const MemoryRates rates = MeasureMemory(clock, 2, 8 << 20, clock.Now() + absl::Milliseconds(50));
  EXPECT_GT(rates.copy, 0.05);
  EXPECT_GT(rates.triad, 0.05);
  EXPECT_EQ(rates.wrong, 0u);
}

}  // namespace
}  // namespace muster::burnin
