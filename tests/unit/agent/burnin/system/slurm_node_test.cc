#include "agent/burnin/system/slurm_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "agent/burnin/check.h"
#include "common/checks/catalog.h"
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
using ::testing::IsEmpty;

// Slurm 22.05's output for a worker that waits for its validation.
constexpr char kNode[] =
    "NodeName=c001 Arch=x86_64 CoresPerSocket=8  CPUAlloc=0 CPUEfctv=32 CPUTot=32 CPULoad=0.40 "
    "AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:rtx_2080_ti:2(S:0-1) NodeAddr=c001 "
    "NodeHostName=c001 Version=22.05.8 OS=Linux 6.1.0 #1 SMP Debian RealMemory=122880 AllocMem=0 "
    "FreeMem=100000 Sockets=2 Boards=1 State=IDLE+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 "
    "Owner=N/A Partitions=batch Reason=muster: not validated [root@2026-11-21T08:00:00]\n";
constexpr char kMachine[] =
    "NodeName=c001 CPUs=32 Boards=1 SocketsPerBoard=2 CoresPerSocket=8 ThreadsPerCore=2 "
    "RealMemory=128640\nUpTime=0-01:02:03\n";

class SlurmNode : public ::testing::Test {
 protected:
  SlurmNode() {
    SetMachine(kMachine);
    SetNode(kNode);
    processes_.On("systemctl is-active slurmd", FakeProcessRunner::Prints("active\n"));
    files_.AddDirectory("/proc/driver/nvidia/gpus/0000:3b:00.0");
    files_.AddDirectory("/proc/driver/nvidia/gpus/0000:af:00.0");
  }

  void SetMachine(const std::string& text, int exit_code = 0) {
    processes_.On("slurmd -C", FakeProcessRunner::Prints(text, exit_code));
  }
  void SetNode(const std::string& text, int exit_code = 0) {
    processes_.On("scontrol --oneliner show node c001", FakeProcessRunner::Prints(text, exit_code));
  }

  CheckResult Run(const std::string& wait = "10s", const std::string& count_gpus = "true") {
    const checks::CheckSpec& spec = *checks::FindCheck("slurm-node");
    const checks::Parameters parameters =
        checks::Parameters::Parse(spec, {{"wait", wait}, {"count-gpus", count_gpus}}).value();
    CheckContext context = {parameters, reporter_, clock_, files_, processes_};
    CheckResult result = RunSlurmNodeCheck(context);
    FinishResult(spec, result);
    return result;
  }
  // The code of the only fault; "": there is none, or there are several.
  static std::string FaultOf(const CheckResult& result) {
    return result.faults.size() == 1 ? result.faults[0].code : "";
  }

  muster::testing::QuietReporter reporter_;
  muster::testing::FakeClock clock_;
  muster::testing::FakeFileSystem files_;
  FakeProcessRunner processes_;
};

TEST_F(SlurmNode, PassesWhereSlurmSeesWhatIsThere) {
  const absl::Time start = clock_.Now();
  const CheckResult result = Run();
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
  EXPECT_EQ(result.metrics.at(0).value, 128640 - 122880);
  EXPECT_EQ(clock_.Now(), start);
  for (const sys::ProcessSpec& spec : processes_.specs()) {
    EXPECT_TRUE(spec.die_with_parent);
    EXPECT_LE(spec.timeout, absl::Seconds(20));
  }
}

TEST_F(SlurmNode, IsSkippedWithoutSlurmd) {
  FakeProcessRunner bare;
  bare.On("scontrol", FakeProcessRunner::Prints(kNode));
  const checks::Parameters parameters =
      checks::Parameters::Parse(*checks::FindCheck("slurm-node"), {}).value();
  CheckContext context = {parameters, reporter_, clock_, files_, bare};
  EXPECT_EQ(RunSlurmNodeCheck(context).outcome, Outcome::kSkipped);
  EXPECT_EQ(bare.commands().size(), 1u);
}

TEST_F(SlurmNode, NamesEachDifferenceWithBothValues) {
  const struct {
    const char* from;
    const char* to;
    const char* code;
    const char* message;
  } cases[] = {
      {"CPUTot=32", "CPUTot=64", "slurm_cpus",
       "Slurm expects CPUs=64 of c001, slurmd -C finds 32: look for a missing processor"},
      {"CPUTot=32", "CPUTot=8", "slurm_cpus",
       "CPUs=8 of c001, slurmd -C finds 32: rewrite slurm.conf"},
      {"Boards=1", "Boards=2", "slurm_topology", "Boards=2 of c001, slurmd -C finds 1"},
      {"Sockets=2", "Sockets=1", "slurm_topology", "Sockets=1 of c001, slurmd -C finds 2"},
      {"CoresPerSocket=8", "CoresPerSocket=16", "slurm_topology",
       "CoresPerSocket=16 of c001, slurmd -C finds 8"},
      {"ThreadsPerCore=2", "ThreadsPerCore=1", "slurm_topology", "ThreadsPerCore=1 of c001"},
      {"RealMemory=122880", "RealMemory=262144", "slurm_memory",
       "RealMemory=262144 MiB of c001, slurmd -C finds 128640 MiB: look for a missing memory "
       "module"},
      {"gpu:rtx_2080_ti:2", "gpu:rtx_2080_ti:4", "slurm_gpus",
       "Gres=gpu=4 of c001, the driver lists 2: look for a GPU"},
      {"gpu:rtx_2080_ti:2(S:0-1)", "(null)", "slurm_gpus",
       "Gres=gpu=0 of c001, the driver lists 2: rewrite slurm.conf"},
  };
  for (const auto& c : cases) {
    SetNode(absl::StrReplaceAll(kNode, {{c.from, c.to}}));
    const CheckResult result = Run();
    EXPECT_EQ(result.outcome, Outcome::kFail) << c.to;
    EXPECT_EQ(FaultOf(result), c.code) << c.to;
    EXPECT_THAT(result.reason, AllOf(Said(), HasSubstr(c.message)));
  }
}

TEST_F(SlurmNode, ChoicesOfAnAdministratorAreNoFaults) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"CPUTot=32", "CPUTot=16"},  // a job gets whole cores
           {"RealMemory=122880", "RealMemory=128640"},
           {"gpu:rtx_2080_ti:2", "gpu:a100_3g.20gb:14"},  // slices of MIG
           {"gpu:rtx_2080_ti:2(S:0-1)", "gpu:a:1(S:0,1),gpu:b:1,shard:8"},
           {"gpu:rtx_2080_ti:2(S:0-1)", "gpu:2"},
           {"State=IDLE+DRAIN", "State=MIXED"}}) {
    SetNode(absl::StrReplaceAll(kNode, {{from, to}}));
    const CheckResult result = Run();
    EXPECT_EQ(result.outcome, Outcome::kPass) << to << ": " << result.reason;
  }
}

TEST_F(SlurmNode, LineWithoutGresHasNoGpus) {
  SetNode(absl::StrReplaceAll(kNode, {{"Gres=gpu:rtx_2080_ti:2(S:0-1) ", ""}}));
  EXPECT_EQ(FaultOf(Run()), "slurm_gpus");
}

TEST_F(SlurmNode, CardsThatAreNotUsedAreNotCounted) {
  SetNode(absl::StrReplaceAll(kNode, {{"gpu:rtx_2080_ti:2(S:0-1)", "(null)"}}));
  EXPECT_EQ(FaultOf(Run()), "slurm_gpus");
  const CheckResult result = Run("10s", "false");
  EXPECT_EQ(result.outcome, Outcome::kPass) << result.reason;
}

TEST_F(SlurmNode, NumbersBeyondAllCountsAreNone) {
  // Multiplied with each other they would overflow.
  constexpr absl::string_view kBeyond = "1099511627776";
  SetNode(absl::StrReplaceAll(kNode, {{"CPUTot=32", absl::StrCat("CPUTot=", kBeyond)}}));
  SetMachine(absl::StrReplaceAll(kMachine,
                                 {{"ThreadsPerCore=2", absl::StrCat("ThreadsPerCore=", kBeyond)}}));
  const CheckResult result = Run();
  EXPECT_EQ(result.outcome, Outcome::kPass);
  EXPECT_THAT(result.faults, IsEmpty());
}

TEST_F(SlurmNode, StatesInWhichNoJobStartsFail) {
  for (const char* state : {"DOWN+DRAIN", "DOWN*", "IDLE*+DRAIN", "IDLE+DRAIN+NOT_RESPONDING",
                            "IDLE+DRAIN+INVALID_REG", "FAIL", "UNKNOWN+DRAIN"}) {
    SetNode(absl::StrReplaceAll(kNode, {{"IDLE+DRAIN", state}}));
    const CheckResult result = Run();
    EXPECT_EQ(FaultOf(result), "slurm_state") << state;
    EXPECT_THAT(result.reason, AllOf(Said(), HasSubstr(absl::StrCat("Slurm has c001 as ", state,
                                                                    " (muster: not validated"))));
  }
}

TEST_F(SlurmNode, MayTakeAWhileToRegister) {
  const absl::Time boot = clock_.Now();
  processes_.On("scontrol --oneliner show node c001", [&](const sys::ProcessSpec&) {
    return FakeProcessRunner::Prints(
        clock_.Now() - boot < absl::Seconds(5)
            ? absl::StrReplaceAll(kNode, {{"IDLE+DRAIN", "DOWN+DRAIN+NOT_RESPONDING"}})
            : kNode);
  });
  EXPECT_EQ(Run("4s").outcome, Outcome::kFail);
  EXPECT_EQ(Run().outcome, Outcome::kPass);
  EXPECT_LT(clock_.Now() - boot, absl::Seconds(8));
}

TEST_F(SlurmNode, SlurmdThatDoesNotRunFails) {
  processes_.On("systemctl is-active slurmd", FakeProcessRunner::Prints("failed\n", 3));
  const CheckResult result = Run();
  EXPECT_EQ(FaultOf(result), "slurmd_not_active");
  EXPECT_THAT(result.reason, Said());
}

TEST_F(SlurmNode, NodeThatSlurmDoesNotKnowFails) {
  SetNode("Node c001 not found\n", 1);
  EXPECT_EQ(FaultOf(Run()), "not_in_slurm");
}

TEST_F(SlurmNode, SilentSlurmctldIsUnknown) {
  SetNode("slurm_load_node error: Unable to contact slurm controller (connect failure)\n", 1);
  const CheckResult result = Run();
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_THAT(result.reason, Said());
  EXPECT_THAT(result.faults, IsEmpty());
}

TEST_F(SlurmNode, WhatIsNoAnswerIsUnknown) {
  SetMachine("slurmd: fatal: no hwloc\n", 1);
  EXPECT_EQ(Run().outcome, Outcome::kUnknown);
  EXPECT_THAT(Run().reason, Said());
  SetMachine("something\n");
  EXPECT_EQ(Run().outcome, Outcome::kUnknown);
  SetMachine(kMachine);
  SetNode("NodeName=c001 and no more\n");
  EXPECT_EQ(Run().outcome, Outcome::kUnknown);
}

TEST_F(SlurmNode, NodeWithoutDriverHasNoGpus) {
  muster::testing::FakeFileSystem bare;
  const checks::Parameters parameters =
      checks::Parameters::Parse(*checks::FindCheck("slurm-node"), {}).value();
  CheckContext context = {parameters, reporter_, clock_, bare, processes_};
  EXPECT_EQ(FaultOf(RunSlurmNodeCheck(context)), "slurm_gpus");
  SetNode(absl::StrReplaceAll(kNode, {{"gpu:rtx_2080_ti:2(S:0-1)", "(null)"}}));
  EXPECT_THAT(RunSlurmNodeCheck(context).faults, IsEmpty());
}

}  // namespace
}  // namespace muster::burnin
