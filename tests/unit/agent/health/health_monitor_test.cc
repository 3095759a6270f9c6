#include "agent/health/health_monitor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/sys/file_system.h"
#include "common/wire/message_rules.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent::health {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Finds what the test says.
class ScriptedProbe final : public Probe {
 public:
  absl::StatusOr<Findings> Look(const muster::health::Limits& limits) override {
    std::shared_ptr<absl::Notification> hang;
    {
      absl::MutexLock lock(&mutex_);
      ++looks_;
      hang = hang_;
    }
    if (hang != nullptr) hang->WaitForNotification();
    absl::MutexLock lock(&mutex_);
    Findings findings;
    for (int i = 0; i < flood_; ++i) findings.Bad("disk_full", absl::StrCat("/", i), "full");
    if (is_bad_)
      findings.Bad("disk_full", "/a",
                   absl::StrCat("limit ", limits.Of("disk_full.percent"), evidence_));
    return findings;
  }
  void Restore(const std::string& condition, const std::string& object) override {
    restored.push_back(absl::StrCat(condition, " ", object));
  }
  std::vector<std::string> restored;

  void Set(bool is_bad, std::string evidence = "") {
    absl::MutexLock lock(&mutex_);
    is_bad_ = is_bad;
    evidence_ = std::move(evidence);
  }
  // Finds so many more things.
  void Flood(int count) {
    absl::MutexLock lock(&mutex_);
    flood_ = count;
  }
  // Looks hang until the next call.
  void Hang() {
    absl::MutexLock lock(&mutex_);
    hang_ = std::make_shared<absl::Notification>();
  }
  void GoOn() {
    absl::MutexLock lock(&mutex_);
    if (hang_ != nullptr) hang_->Notify();
    hang_ = nullptr;
  }
  int looks() {
    absl::MutexLock lock(&mutex_);
    return looks_;
  }

 private:
  absl::Mutex mutex_;
  bool is_bad_ ABSL_GUARDED_BY(mutex_) = false;
  std::string evidence_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<absl::Notification> hang_ ABSL_GUARDED_BY(mutex_);
  int looks_ ABSL_GUARDED_BY(mutex_) = 0;
  int flood_ ABSL_GUARDED_BY(mutex_) = 0;
};

class HealthMonitorTest : public ::testing::Test {
 protected:
  HealthMonitorTest() {
    EXPECT_EQ(::mkfifo(Log().c_str(), 0600), 0);
    writer_ = ::open(Log().c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  }
  ~HealthMonitorTest() override {
    monitor_.reset();
    ::close(writer_);
  }

  std::string Log() const { return dir_.path() + "/kmsg"; }
  std::string RecordPath() const { return dir_.path() + "/health"; }

  void Start(const std::string& boot = "boot-1") {
    trends_ = std::make_unique<Trends>();
    monitor_ = std::make_unique<HealthMonitor>(
        HealthMonitor::Options{.boot_id = boot,
                               .record_path = RecordPath(),
                               .local_report = dir_.path() + "/run/health",
                               .log_path = Log(),
                               .is_container = is_container_,
                               .probes = {{.name = "disks",
                                           .conditions = {{"disk_full", {}}, {"disk_readonly", {}}},
                                           .interval = absl::Seconds(30),
                                           .time_limit = absl::Hours(1),
                                           .probe = probe_},
                                          {.name = "gpus",
                                           .conditions = {{"gpu_driver", {}}},
                                           .interval = absl::Seconds(30),
                                           .time_limit = other_limit_,
                                           .probe = other_}},
                               .xids = xids_,
                               .xid_probe = xid_probe_,
                               .run_site =
                                   [this](const v1::StartCommand&) {
                                     v1::CommandEnd end;
                                     end.set_outcome(v1::COMMAND_OUTCOME_EXITED);
                                     end.set_exit_status(site_status_.load());
                                     return end;
                                   },
                               .wake = [this] { ++wakes_; },
                               .note =
                                   [this](absl::string_view note) {
                                     if (absl::StrContains(note, RecordPath())) ++write_failures_;
                                   },
                               .since_boot = [] { return absl::Hours(1); }},
        *trends_, gpus_, files_, clock_);
    monitor_->Start();
  }

  void Write(const std::string& text) {
    ASSERT_EQ(::write(writer_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  // Whether a report since `reports_` was 0 says so within half a minute, while time passes.
  template <typename Matcher>
  bool IsReported(Matcher matcher, absl::Duration step) {
    const absl::Time limit = absl::Now() + absl::Seconds(30);
    do {
      for (const v1::AgentMessage& message : monitor_->TakeDue()) {
        EXPECT_OK(wire::Check(message));
        ++reports_;
        report_ = message.health();
      }
      if (reports_ > 0 && ::testing::Matches(matcher)(Names(report_))) return true;
      absl::SleepFor(absl::Milliseconds(5));
      clock_.Advance(step);
    } while (absl::Now() < limit);
    return false;
  }
  // Waits for such a report, while time passes.
  template <typename Matcher>
  void AwaitReport(Matcher matcher, absl::Duration step = absl::Seconds(1)) {
    if (!IsReported(matcher, step))
      ADD_FAILURE() << "no such report; the last: " << report_.ShortDebugString();
  }

  void AwaitNext() {
    reports_ = 0;
    AwaitReport(::testing::_);
  }
  std::string Evidence(const std::string& name) const {
    for (const v1::Condition& condition : report_.conditions())
      if (condition.name() == name) return condition.evidence();
    return "";
  }
  // Waits for a report that has `text` in the evidence of the condition.
  void AwaitEvidence(const std::string& name, const std::string& text) {
    for (int i = 0; i < 100 && !absl::StrContains(Evidence(name), text); ++i) {
      AwaitNext();
      if (HasFailure()) return;
    }
    EXPECT_THAT(Evidence(name), HasSubstr(text));
  }
  bool Watches(const std::string& condition) const {
    return std::count(report_.watched().begin(), report_.watched().end(), condition) > 0;
  }

  // Without the reader's own condition: fake time passes more quickly than it goes round.
  static std::vector<std::string> Names(const v1::HealthReport& report) {
    std::vector<std::string> names;
    for (const v1::Condition& condition : report.conditions()) {
      if (condition.name() == "kmsg_reader") continue;
      names.push_back(absl::StrCat(condition.status() == v1::CONDITION_STATUS_BAD ? "" : "unknown ",
                                   condition.name(), " ", condition.object()));
    }
    return names;
  }

  muster::testing::TempDir dir_;
  muster::testing::FakeClock clock_;
  sys::RealFileSystem files_;
  GpuNames gpus_;
  std::unique_ptr<Trends> trends_;
  std::shared_ptr<ScriptedProbe> probe_ = std::make_shared<ScriptedProbe>();
  std::shared_ptr<ScriptedProbe> other_ = std::make_shared<ScriptedProbe>();
  absl::Duration other_limit_ = absl::Hours(1);
  std::shared_ptr<XidInbox> xids_ = std::make_shared<XidInbox>();
  ProbeSpec xid_probe_ = {};
  std::atomic<uint32_t> site_status_ = 0;
  std::atomic<int> wakes_ = 0;
  std::atomic<int> write_failures_ = 0;  // of the record
  bool is_container_ = false;
  int writer_ = -1;
  int reports_ = 0;
  v1::HealthReport report_;
  std::unique_ptr<HealthMonitor> monitor_;
};

TEST_F(HealthMonitorTest, ReportsWhatIsWrongAndWhatIsWatched) {
  probe_->Set(true);
  Start();
  monitor_->OnConnected();
  AwaitReport(Contains("disk_full /a"));
  EXPECT_GT(wakes_.load(), 0);
  for (int i = 0; i < 100 && !Watches("oom_kill"); ++i) AwaitNext();
  EXPECT_THAT(report_.watched(), Contains("disk_full"));
  EXPECT_THAT(report_.watched(), Contains("oom_kill"));
  EXPECT_THAT(report_.watched(), Not(Contains("nic_down")));  // nobody looks at it here
  v1::Heartbeat heartbeat;
  monitor_->Describe(heartbeat);
  EXPECT_EQ(heartbeat.health_sequence(), report_.sequence());
  EXPECT_GE(heartbeat.conditions_bad(), 1u);
  EXPECT_EQ(heartbeat.conditions_unknown(), 0u);
  // A new connection hears everything again, and heartbeats know of no report until then.
  monitor_->OnConnected();
  AwaitNext();
  EXPECT_THAT(Names(report_), Contains("disk_full /a"));
  probe_->Set(false);
  AwaitReport(IsEmpty());
}

TEST_F(HealthMonitorTest, AContainerIsNotBlamedForHavingNoLog) {
  ASSERT_EQ(::unlink(Log().c_str()), 0);
  for (const bool is_container : {true, false}) {
    SCOPED_TRACE(is_container);
    is_container_ = is_container;
    Start();
    const absl::Time limit = absl::Now() + (is_container ? absl::Seconds(1) : absl::Seconds(20));
    while (absl::Now() < limit && !Watches("kmsg_reader")) {
      monitor_->OnConnected();  // it reports, whether something is new or not
      AwaitNext();
      EXPECT_FALSE(Watches("oom_kill"));
      // A probe watches it, whatever the log does.
      EXPECT_EQ(Watches("disk_readonly"), Watches("disk_full"));
    }
    EXPECT_TRUE(Watches("agent_overload"));
    EXPECT_EQ(Watches("kmsg_reader"), !is_container);
    monitor_.reset();
    reports_ = 0;
  }
}

// Listens to a driver that has told an Xid.
class HearingProbe final : public Probe {
 public:
  explicit HearingProbe(std::shared_ptr<XidInbox> inbox) : inbox_(std::move(inbox)) {}
  absl::StatusOr<Findings> Look(const muster::health::Limits&) override {
    inbox_->SetListening(true);
    inbox_->Add("NVRM: Xid (PCI:0000:3b:00): 79, told by NVML");
    inbox_->Add("NVRM: Xid (PCI:0000:3b:00): 79, told by NVML");
    return Findings();
  }

 private:
  const std::shared_ptr<XidInbox> inbox_;
};

TEST_F(HealthMonitorTest, WithoutALogTheDriverIsListenedTo) {
  ASSERT_EQ(::unlink(Log().c_str()), 0);
  is_container_ = true;
  xid_probe_ = {.name = "xids",
                .conditions = {},
                .interval = absl::Minutes(1),
                .time_limit = absl::Minutes(12),
                .probe = std::make_shared<HearingProbe>(xids_)};
  gpus_.Set({{"0000:3b:00.0", "GPU-7"}});
  Start();
  monitor_->OnConnected();
  AwaitReport(ElementsAre("gpu_xid GPU-7"));
  // The reader of the log finds out in its own time that there is none.
  const absl::Time limit = absl::Now() + absl::Seconds(10);
  while (absl::Now() < limit && !Watches("gpu_xid")) {
    monitor_->OnConnected();
    AwaitNext();
  }
  EXPECT_TRUE(Watches("gpu_xid"));
  EXPECT_FALSE(Watches("oom_kill"));
}

TEST_F(HealthMonitorTest, WithALogNobodyListensToTheDriver) {
  xid_probe_ = {.name = "xids",
                .interval = absl::Minutes(1),
                .time_limit = absl::Minutes(12),
                .probe = std::make_shared<HearingProbe>(xids_)};
  Start();
  monitor_->OnConnected();
  for (int i = 0; i < 100 && !Watches("oom_kill"); ++i) AwaitNext();
  EXPECT_TRUE(Watches("oom_kill"));
  EXPECT_THAT(Names(report_), IsEmpty());
  EXPECT_FALSE(xids_->is_listening());
}

TEST_F(HealthMonitorTest, WhatAnOperatorClearsEndsAndMayBeginAgain) {
  probe_->Set(true);
  Start();
  monitor_->OnConnected();
  gpus_.Set({{"0000:3b:00.0", "GPU-7"}, {"0000:5e:00.0", "GPU-8"}});
  Write("3,10,1000000,-;NVRM: Xid (PCI:0000:3b:00): 79, x\n");
  Write("3,11,1000000,-;NVRM: Xid (PCI:0000:5e:00): 95, x\n");
  AwaitReport(ElementsAre("disk_full /a", "gpu_xid GPU-7", "gpu_xid GPU-8"));
  v1::ClearHealth clear;
  clear.set_condition("gpu_xid");
  clear.set_object("GPU-7");
  monitor_->Clear(clear);
  AwaitReport(ElementsAre("disk_full /a", "gpu_xid GPU-8"));
  // The next agent does not know better.
  monitor_.reset();
  reports_ = 0;
  Start();
  monitor_->OnConnected();
  AwaitReport(ElementsAre("disk_full /a", "gpu_xid GPU-8"));
  clear.clear_object();
  monitor_->Clear(clear);
  AwaitReport(ElementsAre("disk_full /a"));
  Write("3,12,1000002,-;NVRM: Xid (PCI:0000:3b:00): 79, x\n");
  AwaitReport(ElementsAre("disk_full /a", "gpu_xid GPU-7"));
  // What ends by itself is not cleared.
  clear.set_condition("disk_full");
  monitor_->Clear(clear);
  monitor_->OnConnected();
  AwaitNext();
  EXPECT_THAT(Names(report_), Contains("disk_full /a"));
}

TEST_F(HealthMonitorTest, WhatAnOperatorClearedIsSavedOnceTheDiskTakesIt) {
  Start();
  monitor_->OnConnected();
  gpus_.Set({{"0000:3b:00.0", "GPU-7"}});
  Write("3,10,1000000,-;NVRM: Xid (PCI:0000:3b:00): 79, x\n");
  AwaitReport(ElementsAre("gpu_xid GPU-7"));
  // A record cannot take the place of a folder.
  do {
    ::unlink(RecordPath().c_str());
  } while (::mkdir(RecordPath().c_str(), 0700) != 0 && errno == EEXIST);
  v1::ClearHealth clear;
  clear.set_condition("gpu_xid");
  monitor_->Clear(clear);
  AwaitReport(IsEmpty());
  const absl::Time limit = absl::Now() + absl::Seconds(20);
  while (write_failures_ == 0 && absl::Now() < limit) absl::SleepFor(absl::Milliseconds(5));
  ASSERT_GT(write_failures_.load(), 0);
  ASSERT_EQ(::rmdir(RecordPath().c_str()), 0);
  // Long before the record is due without news.
  const absl::Time begin = clock_.Now();
  absl::StatusOr<std::string> record = absl::UnknownError("not read");
  while (!record.ok() && absl::Now() < limit) {
    if (clock_.Now() - begin < absl::Minutes(10)) clock_.Advance(absl::Seconds(1));
    absl::SleepFor(absl::Milliseconds(5));
    record = files_.Read(RecordPath());
  }
  ASSERT_OK(record);
  EXPECT_THAT(*record, Not(HasSubstr("GPU-7")));
}

TEST_F(HealthMonitorTest, AnXidInTheLogIsReportedAtOnce) {
  Start();
  monitor_->OnConnected();
  gpus_.Set({{"0000:3b:00.0", "GPU-7"}});
  AwaitReport(IsEmpty());
  Write("3,10,1000000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n");
  // Time stands still while the log is read, however long that takes here.
  bool is_reported = false;
  for (int i = 0; i < 2 && !is_reported; ++i) {
    clock_.Advance(HealthMonitor::kReportDistance);
    is_reported = IsReported(Contains("gpu_xid GPU-7"), absl::ZeroDuration());
  }
  EXPECT_TRUE(is_reported) << report_.ShortDebugString();
  // Programs of this node know it before the controller does, and drains.
  const auto report = ParseLocalReport(files_.Read(dir_.path() + "/run/health").value_or(""));
  ASSERT_OK(report.status());
  EXPECT_EQ(AnswerSlurm(report, absl::Hours(1)).exit_code, kLocalBad);
  // The driver is loaded anew, and the GPU with it.
  Write("6,11,1000001,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550\n");
  AwaitReport(Not(Contains("gpu_xid GPU-7")));
}

TEST_F(HealthMonitorTest, AFileSystemThatShutItselfDownIsBadUntilItIsMountedAnew) {
  Start();
  monitor_->OnConnected();
  Write("2,10,1000000,-;EXT4-fs (sda1): Remounting filesystem read-only\n");
  Write("1,11,1000000,-;XFS (sdb1): Filesystem has been shut down due to log error (0x2).\n");
  AwaitReport(ElementsAre("disk_readonly sda1", "disk_readonly sdb1"));
  Write("5,12,1000001,-;XFS (sdb1): Unmounting Filesystem\n");
  AwaitReport(ElementsAre("disk_readonly sda1"));
}

// The driver takes its cards before it says that it is loaded.
TEST_F(HealthMonitorTest, ACardThatTheDriverCouldNotTakeOutlastsItsStart) {
  Start();
  monitor_->OnConnected();
  AwaitReport(IsEmpty());
  Write("3,10,900000,-;NVRM: Xid (PCI:0000:af:00): 79, pid=1, GPU has fallen off the bus.\n");
  AwaitReport(Contains("gpu_xid 0000:af:00"));
  Write(
      R"(3,11,1000000,-;NVRM: The NVIDIA GPU 0000:3b:00.0 (PCI ID: 10de:2330)\x0aNVRM: installed )"
      R"(in this system has\x0aNVRM: fallen off the bus and is not responding to commands.)"
      "\n6,12,1000001,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550\n");
  AwaitReport(ElementsAre("gpu_xid 0000:3b:00.0"));
}

// A card that somebody asks for fails again and again, for days before the driver is loaded anew.
TEST_F(HealthMonitorTest, CardsThatFailedLongAgoKeepNoRoomFromOneThatFailsNow) {
  Start();
  monitor_->OnConnected();
  AwaitReport(IsEmpty());
  int sequence = 10;
  const auto fail = [&](const std::string& slot, int at_s) {
    Write(absl::StrCat("3,", sequence++, ",", at_s, "000000,-;NVRM: The NVIDIA GPU ", slot,
                       R"( (PCI ID: 10de:2330)\x0aNVRM: installed in this system has\x0aNVRM: )"
                       "fallen off the bus and is not responding to commands.\n"));
  };
  for (int i = 10; i < 80; ++i) fail(absl::StrCat("0000:", i, ":00.0"), 100);
  for (int i = 0; i < 70; ++i) fail("0000:09:00.0", 1000);
  fail("0000:3b:00.0", 1000);
  Write(absl::StrCat("6,", sequence, ",1001000000,-;NVRM: loading NVIDIA UNIX x86_64  550\n"));
  AwaitReport(ElementsAre("gpu_xid 0000:09:00.0", "gpu_xid 0000:3b:00.0"), absl::Milliseconds(20));
}

TEST_F(HealthMonitorTest, AGraverXidIsToldWithTheConditionAlsoAfterARestart) {
  Start();
  monitor_->OnConnected();
  Write("3,10,1000000,-;NVRM: Xid (PCI:0000:3b:00): 95, x\n");
  AwaitReport(ElementsAre("gpu_xid 0000:3b:00"));
  EXPECT_THAT(Evidence("gpu_xid"), HasSubstr("Xid 95"));
  Write("3,11,1000000,-;NVRM: Xid (PCI:0000:3b:00): 79, x\n");
  AwaitEvidence("gpu_xid", "Xid 79");
  monitor_.reset();
  reports_ = 0;
  Start();
  monitor_->OnConnected();
  AwaitReport(ElementsAre("gpu_xid 0000:3b:00"));
  Write("3,12,1000000,-;NVRM: Xid (PCI:0000:3b:00): 95, x\n");
  Write("3,13,1000000,-;NVRM: Xid (PCI:0000:5e:00): 95, x\n");
  AwaitReport(ElementsAre("gpu_xid 0000:3b:00", "gpu_xid 0000:5e:00"));
  EXPECT_THAT(report_.conditions(0).evidence(), HasSubstr("Xid 79"));
}

TEST_F(HealthMonitorTest, EvidenceThatChangesAtEachLookIsReportedSeldom) {
  probe_->Set(true);
  Start();
  v1::HealthSettings settings;
  settings.add_disabled("kmsg_reader");
  monitor_->Set(settings);
  monitor_->OnConnected();
  AwaitReport(ElementsAre("disk_full /a"));
  const absl::Time begin = clock_.Now();
  reports_ = 0;
  for (int i = 0; i < 300; ++i) {
    probe_->Set(true, absl::StrCat(" ", i));
    clock_.Advance(absl::Seconds(2));
    absl::SleepFor(absl::Milliseconds(2));
    reports_ += static_cast<int>(monitor_->TakeDue().size());
  }
  // Besides what the agent has to say of itself while it starts.
  EXPECT_LE(reports_, (clock_.Now() - begin) / HealthMonitor::kEvidenceDistance + 5);
  for (const char* news : {" newer", " newest"}) {
    probe_->Set(true, news);
    AwaitEvidence("disk_full", news);
  }
}

TEST_F(HealthMonitorTest, EvidenceThatChangesAtEachLookIsNoReasonToWriteTheRecord) {
  probe_->Set(true);
  Start();
  v1::HealthSettings settings;
  settings.add_disabled("kmsg_reader");
  monitor_->Set(settings);
  monitor_->OnConnected();
  AwaitReport(ElementsAre("disk_full /a"));
  const auto record = [this] { return files_.Read(RecordPath()).value_or(""); };
  const absl::Time limit = absl::Now() + absl::Seconds(20);
  while (!absl::StrContains(record(), "/a") && absl::Now() < limit) {
    clock_.Advance(absl::Seconds(1));
    absl::SleepFor(absl::Milliseconds(2));
  }
  ASSERT_THAT(record(), HasSubstr("/a"));
  // Reports of evidence are as far apart as records may be, and a record follows its report.
  for (const char* news : {" new one", " new two", " new three"}) {
    probe_->Set(true, news);
    AwaitEvidence("disk_full", news);
  }
  EXPECT_THAT(record(), Not(HasSubstr(" new ")));
  // It is in the record that is written for something else.
  monitor_.reset();
  EXPECT_THAT(record(), HasSubstr(" new three"));
}

TEST_F(HealthMonitorTest, EventsAndFindingsSurviveARestartButNoBoot) {
  probe_->Set(true);
  Start();
  monitor_->OnConnected();
  AwaitReport(Contains("disk_full /a"));
  Write("3,10,1000000,-;NVRM: Xid (PCI:0000:3b:00): 79, x\n");
  AwaitReport(Contains("gpu_xid 0000:3b:00"));
  monitor_.reset();
  // The log is read on: this record was read before.
  Write("3,10,1000000,-;NVRM: Xid (PCI:0000:af:00): 79, x\n");
  probe_->Hang();
  Start();
  EXPECT_THAT(probe_->restored, ElementsAre("disk_full /a"));
  EXPECT_THAT(other_->restored, IsEmpty());
  reports_ = 0;
  monitor_->OnConnected();
  AwaitReport(ElementsAre("disk_full /a", "gpu_xid 0000:3b:00"));
  monitor_.reset();
  probe_->GoOn();
  probe_->Set(false);
  Start("boot-2");
  EXPECT_EQ(probe_->restored.size(), 1u);
  reports_ = 0;
  monitor_->OnConnected();
  AwaitReport(IsEmpty());
}

TEST_F(HealthMonitorTest, AProbeThatHangsIsUnknownAndHoldsNothingUp) {
  other_->Hang();
  other_limit_ = absl::Seconds(10);
  Start();
  monitor_->OnConnected();
  AwaitReport(ElementsAre("unknown gpu_driver "));
  probe_->Set(true);
  AwaitReport(Contains("disk_full /a"));
  EXPECT_EQ(other_->looks(), 1);
  other_->GoOn();
  AwaitReport(ElementsAre("disk_full /a"));
}

TEST_F(HealthMonitorTest, AFlappingConditionIsReportedSeldom) {
  Start();
  monitor_->OnConnected();
  AwaitReport(IsEmpty());
  const absl::Time begin = clock_.Now();
  reports_ = 0;
  for (int i = 0; i < 400; ++i) {
    Write(absl::StrCat("3,", 100 + 2 * i, ",1,-;NVRM: Xid (PCI:0000:3b:00): 79, x\n3,", 101 + 2 * i,
                       ",1,-;NVRM: loading NVIDIA UNIX x\n"));
    clock_.Advance(absl::Milliseconds(100));
    absl::SleepFor(absl::Milliseconds(2));
    reports_ += static_cast<int>(monitor_->TakeDue().size());
  }
  EXPECT_LE(reports_, (clock_.Now() - begin) / HealthMonitor::kReportDistance + 1);
}

TEST_F(HealthMonitorTest, ClocksThatAreSetHoldNothingUp) {
  Start();
  monitor_->OnConnected();
  AwaitReport(IsEmpty());
  clock_.Advance(-absl::Hours(24 * 365));
  probe_->Set(true);
  AwaitReport(Contains("disk_full /a"));
  clock_.Advance(absl::Hours(24 * 3650));
  probe_->Set(false);
  AwaitReport(IsEmpty());
}

TEST_F(HealthMonitorTest, SettingsApplyAtOnceAndAreTakenBack) {
  probe_->Set(true);
  site_status_ = 1;
  Start();
  monitor_->OnConnected();
  AwaitReport(ElementsAre("disk_full /a"));
  v1::HealthSettings settings;
  settings.add_disabled("disk_full");
  v1::SiteCondition& site = *settings.add_conditions();
  site.set_name("licence");
  site.add_argv("/bin/check");
  monitor_->Set(settings);
  AwaitReport(ElementsAre("licence "));
  EXPECT_THAT(report_.watched(), Contains("licence"));
  EXPECT_THAT(report_.watched(), Not(Contains("disk_full")));
  settings.Clear();
  (*settings.mutable_limits())["disk_full.percent"] = "70";
  monitor_->Set(settings);
  AwaitReport(ElementsAre("disk_full /a"));
  EXPECT_THAT(report_.watched(), Not(Contains("licence")));
}

TEST_F(HealthMonitorTest, TooManyConditionsAreLeftOutAndThatIsSaid) {
  probe_->Set(true);
  probe_->Flood(1000);
  Start();
  monitor_->OnConnected();
  AwaitReport(Contains("agent_overload "));
  EXPECT_GE(report_.conditions_size(),
            static_cast<int>(ConditionBoard::kMaxRows - ConditionBoard::kDrainRows));
  EXPECT_LE(report_.conditions_size(), 256);
}

TEST_F(HealthMonitorTest, ADamagedRecordIsNoTrouble) {
  ASSERT_OK(files_.WriteAtomically(dir_.path() + "/health", std::string(5000, '\xff'), {}));
  probe_->Set(true);
  Start();
  monitor_->OnConnected();
  AwaitReport(ElementsAre("disk_full /a"));
}

}  // namespace
}  // namespace muster::agent::health
