// The supervisor with workers that are real processes: small scripts that behave, or do not.
#include "agent/validation/check_supervisor.h"

#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/validation/worker_process.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/sys/file_system.h"
#include "common/sys/process/left_behind.h"
#include "common/sys/process/process.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"
#include "tests/fixtures/unreapable.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kId[] = "v-1/0.0.0.0/c001";
constexpr char kPassLine[] = R"(echo '{"result":{"outcome":"OUTCOME_PASS","seconds":3}}')";

class CheckSupervisorTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }

  void Open() {
    supervisor_.reset();
    supervisor_ = std::make_unique<CheckSupervisor>(
        CheckSupervisor::Options{.worker = worker(),
                                 .boot_id = boot_id_,
                                 .max_running = 2,
                                 .stop_patience = absl::Milliseconds(200),
                                 .unkillable_after = absl::Milliseconds(200),
                                 .active_plan = [this] { return plan_; }},
        checks(), files_, processes_, clock_);
    ASSERT_OK(supervisor_->Recover());
  }
  std::string worker() const { return dir_.path() + "/worker"; }
  std::string checks() const { return dir_.path() + "/checks"; }

  void Script(const std::string& body) {
    ASSERT_OK(
        files_.WriteAtomically(worker(), absl::StrCat("#!/bin/sh\n", body, "\n"), {.mode = 0755}));
  }
  v1::StartCheck Check(const std::string& id = kId) {
    v1::StartCheck check;
    check.set_check_id(id);
    check.set_check("gpu-gemm");
    *check.mutable_time_limit() = ToProtoDuration(absl::Seconds(60));
    return check;
  }
  // Waits for the next report.
  v1::CheckReport AwaitReport() {
    const absl::Time patience = absl::Now() + absl::Seconds(60);
    while (absl::Now() < patience) {
      for (v1::AgentMessage& message : supervisor_->TakeDue(/*with_updates=*/true)) {
        if (message.has_check_report()) return message.check_report();
        updates_.push_back(message.check_update());
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
    ADD_FAILURE() << "no report";
    return {};
  }
  v1::CheckUpdate AwaitUpdate() {
    const absl::Time patience = absl::Now() + absl::Seconds(60);
    while (absl::Now() < patience) {
      for (v1::AgentMessage& message : supervisor_->TakeDue(/*with_updates=*/true)) {
        if (message.has_check_update()) return message.check_update();
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
    ADD_FAILURE() << "no update";
    return {};
  }
  int AwaitPid(const std::string& path) {
    const absl::Time patience = absl::Now() + absl::Seconds(60);
    int pid = 0;
    while (absl::Now() < patience) {
      const auto content = files_.Read(path);
      if (content.ok() && absl::SimpleAtoi(*content, &pid)) return pid;
      absl::SleepFor(absl::Milliseconds(5));
    }
    ADD_FAILURE() << "no " << path;
    return 0;
  }

  testing::TempDir dir_;
  RealClock clock_;
  sys::RealFileSystem files_;
  sys::RealProcessRunner processes_;
  std::string boot_id_ = "boot1";
  std::string plan_;
  std::vector<v1::CheckUpdate> updates_;
  std::unique_ptr<CheckSupervisor> supervisor_;
};

TEST_F(CheckSupervisorTest, RunsACheckAndKeepsItsReportUntilItIsStored) {
  Script(absl::StrCat("echo \"$@\" > ", dir_.path(), "/argv\n", kPassLine));
  v1::StartCheck check = Check();
  (*check.mutable_parameters())["duration"] = "5s";
  check.set_force(true);
  supervisor_->Start(check);
  const v1::CheckReport report = AwaitReport();
  EXPECT_EQ(report.check_id(), kId);
  EXPECT_EQ(report.result().outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(report.result().check(), "gpu-gemm");
  EXPECT_EQ(report.result().seconds(), 3);
  EXPECT_TRUE(report.result().has_started_at());
  EXPECT_EQ(files_.Read(dir_.path() + "/argv").value(),
            "gpu-gemm --json --set=duration=5s --force\n");
  EXPECT_THAT(supervisor_->running(), IsEmpty());
  EXPECT_THAT(supervisor_->check_ids(), ElementsAre(kId));
  EXPECT_THAT(supervisor_->TakeDue(true), IsEmpty());

  // A new connection, a new agent: the report remains until it is stored.
  supervisor_->OnConnected();
  EXPECT_EQ(AwaitReport().check_id(), kId);
  Open();
  EXPECT_EQ(AwaitReport().result().outcome(), v1::OUTCOME_PASS);
  // If it is requested again, it is not run again.
  Script("exit 1");
  supervisor_->Start(check);
  EXPECT_EQ(AwaitReport().result().outcome(), v1::OUTCOME_PASS);

  v1::CheckReportStored stored;
  stored.set_check_id(kId);
  supervisor_->Stored(stored);
  EXPECT_THAT(supervisor_->check_ids(), IsEmpty());
  EXPECT_THAT(files_.List(checks()).value(), IsEmpty());
  Open();
  EXPECT_THAT(supervisor_->check_ids(), IsEmpty());
}

TEST_F(CheckSupervisorTest, BringsPartnersTogether) {
  Script(R"(echo '{"progress":{"listening":{"port":4711}}}'
            key=$(for a in "$@"; do case $a in --key-file=*) cat "${a#--key-file=}";; esac; done)
            read -r peers
            echo "{\"progress\":{\"phase\":\"$key $(echo "$peers" | tr -d '"')\"}}"
            read -r nothing
            echo '{"result":{"outcome":"OUTCOME_UNKNOWN","reason":"told to stop"}}'; exit 2)");
  v1::StartCheck check = Check();
  check.set_rank(1);
  check.set_ranks(2);
  check.set_pair_key("\x01\xff");
  supervisor_->Start(check);
  EXPECT_EQ(AwaitUpdate().progress().listening().port(), 4711u);
  supervisor_->OnConnected();  // it may have been lost
  EXPECT_EQ(AwaitUpdate().progress().listening().port(), 4711u);
  v1::ConnectPeers peers;
  peers.set_check_id(kId);
  for (const uint32_t port : {4700, 4711}) {
    v1::Endpoint& peer = *peers.add_peers();
    peer.set_address("10.0.0.1");
    peer.set_port(port);
  }
  supervisor_->Connect(peers);
  EXPECT_EQ(AwaitUpdate().progress().phase(),
            "01ff {peers:[{address:10.0.0.1,port:4700},{address:10.0.0.1,port:4711}]}");
  v1::StopCheck stop;
  stop.set_check_id(kId);
  stop.set_reason("stopped by alice");
  supervisor_->Stop(stop);
  EXPECT_EQ(AwaitReport().result().reason(), "told to stop");
  // The key exists as long as the check runs.
  EXPECT_THAT(files_.List(checks()).value(), ElementsAre("v-1+0.0.0.0+c001"));
}

TEST_F(CheckSupervisorTest, EndsAWorkerThatHangsWithAllItsChildren) {
  Script(
      absl::StrCat("trap '' TERM; echo $$ > ", dir_.path(), "/pid; sleep 600 & wait; sleep 600"));
  v1::StartCheck check = Check();
  *check.mutable_time_limit() = ToProtoDuration(absl::Seconds(2));
  supervisor_->Start(check);
  const int pid = AwaitPid(dir_.path() + "/pid");
  const v1::CheckReport report = AwaitReport();
  EXPECT_EQ(report.result().outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(report.result().reason(), Said());
  EXPECT_LT(::kill(pid, 0), 0);
}

// Both conditions of a call into a driver that never returns.
TEST_F(CheckSupervisorTest, AWorkerThatCannotBeKilledEndsItsCheckAndNothingWaitsForIt) {
  Script(absl::StrCat("trap '' TERM; echo $$ > ", dir_.path(), "/pid; sleep 600"));
  v1::StartCheck check = Check();
  *check.mutable_time_limit() = ToProtoDuration(absl::Seconds(2));
  supervisor_->Start(check);
  testing::Unreapable kernel;
  kernel.Hold(AwaitPid(dir_.path() + "/pid"));
  const v1::CheckResult result = AwaitReport().result();
  EXPECT_EQ(result.outcome(), v1::OUTCOME_FAIL);
  ASSERT_EQ(result.faults_size(), 1);
  EXPECT_EQ(result.faults(0).code(), "driver_hangs");
  EXPECT_THAT(result.reason(), Said());
  // Plans are accepted again, and the agent can end.
  EXPECT_THAT(supervisor_->running(), IsEmpty());
  supervisor_->Shutdown("the agent was stopped");
}

TEST_F(CheckSupervisorTest, TheAgentEndsWithoutAWorkerThatCannotBeKilled) {
  Script(absl::StrCat("trap '' TERM; echo $$ > ", dir_.path(), "/pid; sleep 600"));
  supervisor_->Start(Check());
  testing::Unreapable kernel;
  kernel.Hold(AwaitPid(dir_.path() + "/pid"));
  const absl::Time start = absl::Now();
  supervisor_->Shutdown("the agent was stopped");
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  EXPECT_EQ(AwaitReport().result().faults(0).code(), "driver_hangs");
}

TEST_F(CheckSupervisorTest, WhatAWorkerSaidBeforeItHungInTheKernelCounts) {
  Script(absl::StrCat("echo $$ > ", dir_.path(), "/pid; read -r go < ", dir_.path(),
                      "/go; echo '{\"result\":{\"outcome\":\"OUTCOME_FAIL\",\"faults\":[{\"code\":"
                      "\"file_system_hangs\"}]}}'; sleep 600"));
  ASSERT_EQ(::mkfifo((dir_.path() + "/go").c_str(), 0600), 0);
  v1::StartCheck check = Check();
  check.set_check("file-systems");
  supervisor_->Start(check);
  testing::Unreapable kernel;
  kernel.Hold(AwaitPid(dir_.path() + "/pid"));
  std::ofstream(dir_.path() + "/go") << "go\n";
  const v1::CheckResult result = AwaitReport().result();
  EXPECT_EQ(result.outcome(), v1::OUTCOME_FAIL);
  ASSERT_EQ(result.faults_size(), 1);
  EXPECT_EQ(result.faults(0).code(), "file_system_hangs");
  EXPECT_THAT(supervisor_->running(), IsEmpty());
}

TEST_F(CheckSupervisorTest, StopKillsAWorkerThatDoesNotListen) {
  Script("echo '{\"progress\":{}}'; sleep 600");
  supervisor_->Start(Check());
  AwaitUpdate();
  v1::StopCheck stop;
  stop.set_check_id(kId);
  stop.set_reason("rack r1 draws more than predicted");
  supervisor_->Stop(stop);
  const v1::CheckReport report = AwaitReport();
  EXPECT_EQ(report.result().outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(report.result().reason(), "rack r1 draws more than predicted");
}

TEST_F(CheckSupervisorTest, AWorkerThatPrintsGarbageForEverIsEnded) {
  Script("exec yes garbage");
  supervisor_->Start(Check());
  const v1::CheckReport report = AwaitReport();
  EXPECT_EQ(report.result().outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(report.result().reason(), Said());
}

TEST_F(CheckSupervisorTest, SaysWhyAWorkerDied) {
  Script("echo 'libcuda.so.1: cannot open' >&2; kill -SEGV $$");
  supervisor_->Start(Check());
  EXPECT_THAT(AwaitReport().result().reason(), Said());
}

TEST_F(CheckSupervisorTest, WithoutAWorkerTheCheckIsUnknown) {
  supervisor_->Start(Check());
  const v1::CheckReport report = AwaitReport();
  EXPECT_EQ(report.result().outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(report.result().reason(), Said());
}

TEST_F(CheckSupervisorTest, RefusesWhatItCannotDo) {
  Script("sleep 600");
  v1::StartCheck late = Check("late");
  *late.mutable_expires_at() = ToTimestamp(absl::Now() - absl::Seconds(1));
  supervisor_->Start(late);
  EXPECT_THAT(AwaitReport().result().reason(), Said());

  v1::StartCheck endless = Check("endless");
  endless.clear_time_limit();
  supervisor_->Start(endless);
  EXPECT_EQ(AwaitReport().check_id(), "endless");

  v1::StartCheck strange = Check("strange");
  strange.set_check("../../bin/sh");
  supervisor_->Start(strange);
  EXPECT_THAT(AwaitReport().result().reason(), Said());

  v1::StartCheck option = Check("option");
  (*option.mutable_parameters())["json=false --x"] = "1";
  supervisor_->Start(option);
  EXPECT_THAT(AwaitReport().result().reason(), Said());

  plan_ = "r-1/0";
  supervisor_->Start(Check("planned"));
  EXPECT_THAT(AwaitReport().result().reason(), Said());
  plan_.clear();

  supervisor_->Start(Check("one"));
  supervisor_->Start(Check("two"));
  supervisor_->Start(Check("three"));
  EXPECT_THAT(AwaitReport().result().reason(), Said());
  supervisor_->Start(Check("../../etc/passwd"));  // not an id, so there is nothing to report
  EXPECT_EQ(supervisor_->check_ids().size(), 8u);
}

TEST_F(CheckSupervisorTest, ShutdownMakesWhatRunsUnknown) {
  Script("echo '{\"progress\":{}}'; sleep 600");
  supervisor_->Start(Check());
  AwaitUpdate();
  supervisor_->Shutdown("the agent was stopped");
  EXPECT_EQ(AwaitReport().result().reason(), "the agent was stopped");
  supervisor_->Start(Check("late"));
  EXPECT_THAT(supervisor_->check_ids(), ElementsAre(kId));
}

// The state that a killed agent leaves: its worker is still running, and its record says so.
TEST_F(CheckSupervisorTest, ARestartedAgentEndsWhatItsPredecessorLeft) {
  Script(absl::StrCat("trap '' TERM HUP; echo $$ > ", dir_.path(), "/pid; exec sleep 600"));
  supervisor_->Start(Check());
  const int pid = AwaitPid(dir_.path() + "/pid");
  const absl::Time patience = absl::Now() + absl::Seconds(60);
  CheckFiles checks_on_disk(checks(), files_);
  v1::CheckRecord record;
  while (record.pid() == 0 && absl::Now() < patience) {
    record = checks_on_disk.Get(kId).value();
  }
  ASSERT_EQ(record.pid(), pid);
  ASSERT_NE(record.pid_start_ticks(), 0u);
  const std::string killed = dir_.path() + "/killed";
  CheckFiles left(killed, files_);
  ASSERT_OK(left.Put(record));
  CheckSupervisor next({.worker = worker(), .boot_id = "boot1"}, killed, files_, processes_,
                       clock_);
  ASSERT_OK(next.Recover());
  EXPECT_THAT(AwaitReport().result().reason(), Said());  // the old one saw it die
  const auto due = next.TakeDue(true);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].check_report().result().outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(due[0].check_report().result().reason(), Said());
}

TEST_F(CheckSupervisorTest, AfterARebootNothingIsKilled) {
  v1::CheckRecord record;
  record.set_check_id(kId);
  record.set_boot_id("boot0");
  record.set_pid(::getpid());  // another process's number now
  record.set_pid_start_ticks(sys::StartTicksOf(::getpid(), files_));
  ASSERT_NE(record.pid_start_ticks(), 0u);
  ASSERT_OK(CheckFiles(checks(), files_).Put(record));
  Open();
  const v1::CheckResult result = AwaitReport().result();
  EXPECT_EQ(result.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(result.reason(), Said());
}

TEST_F(CheckSupervisorTest, AnotherProcessWithTheSameNumberIsLeftAlone) {
  v1::CheckRecord record;
  record.set_check_id(kId);
  record.set_pid(::getpid());
  record.set_pid_start_ticks(sys::StartTicksOf(::getpid(), files_) + 1);
  EXPECT_FALSE(sys::KillLeftBehind(record.pid(), record.pid_start_ticks(), files_));
}

TEST_F(CheckSupervisorTest, WhatIsDamagedOnDiskIsRemoved) {
  ASSERT_OK(files_.MakeDirectory(checks(), 0700));
  std::ofstream(checks() + "/v-1+x") << "garbage";
  Open();
  EXPECT_THAT(files_.List(checks()).value(), IsEmpty());
}

}  // namespace
}  // namespace muster::agent
