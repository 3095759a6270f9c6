// SdBusUnitManager against a dbus-daemon of its own, on which a small systemd answers.
#include "agent/sys/sd_bus_unit_manager.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "agent/sys/sd_bus.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr char kUnitPath[] = "/org/freedesktop/systemd1/unit/munge_2eservice";

// A private session bus; its socket and process end with it.
class PrivateBus {
 public:
  PrivateBus() {
    int output[2];
    if (::pipe(output) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(output[1], 1);
      ::execlp("dbus-daemon", "dbus-daemon", "--session", "--nofork", "--nopidfile",
               "--print-address=1", nullptr);
      ::_exit(127);
    }
    ::close(output[1]);
    char byte;
    while (::read(output[0], &byte, 1) == 1 && byte != '\n') address_ += byte;
    ::close(output[0]);
  }
  ~PrivateBus() { End(); }
  // Drops all connections.
  void End() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  const std::string& address() const { return address_; }  // empty: there is no dbus-daemon
  std::string socket() const {
    absl::string_view path = address_;
    absl::ConsumePrefix(&path, "unix:path=");
    return std::string(path.substr(0, path.find(',')));
  }

 private:
  pid_t pid_ = -1;
  std::string address_;
};

// One unit, munge.service; a job ends with the result that the test set.
class SmallSystemd {
 public:
  explicit SmallSystemd(const std::string& address) : thread_([this, address] { Serve(address); }) {
    ready_.WaitForNotification();
  }
  ~SmallSystemd() {
    stop_ = true;
    thread_.join();
  }
  void SetResult(std::string result, std::string active_state) {
    absl::MutexLock lock(&mutex_);
    result_ = std::move(result);
    active_state_ = std::move(active_state);
  }
  void SetType(std::string type) {
    absl::MutexLock lock(&mutex_);
    type_ = std::move(type);
  }
  // The program ends with an error after its state was read this many times.
  void DieAfterReads(int reads) {
    absl::MutexLock lock(&mutex_);
    reads_left_ = reads;
  }
  // `act` is called when the state is read for the last time of so many.
  void ActAtRead(int reads, std::function<void()> act) {
    absl::MutexLock lock(&mutex_);
    reads_to_act_ = reads;
    act_ = std::move(act);
  }
  // The unit has its job until that was asked so many times.
  void KeepJob(int looks) {
    absl::MutexLock lock(&mutex_);
    job_looks_ = looks;
  }
  std::vector<std::string> log() {
    absl::MutexLock lock(&mutex_);
    return log_;
  }

 private:
  static SmallSystemd& Self(void* data) { return *static_cast<SmallSystemd*>(data); }
  void Log(sd_bus_message* message, const std::string& argument) {
    absl::MutexLock lock(&mutex_);
    log_.push_back(
        absl::StrCat(sd_bus_message_get_member(message), argument.empty() ? "" : " ", argument));
  }

  static int OnLoad(sd_bus_message* message, void*, sd_bus_error*) {
    return sd_bus_reply_method_return(message, "o", kUnitPath);
  }
  // Two units, whatever their state.
  static int OnList(sd_bus_message* message, void* data, sd_bus_error*) {
    const char* state = nullptr;
    sd_bus_message_enter_container(message, 'a', "s");
    sd_bus_message_read(message, "s", &state);
    Self(data).Log(message, state);
    return sd_bus_reply_method_return(message, "a(ssssssouso)", 2, "backup.service", "Backup",
                                      "loaded", "failed", "failed", "", "/u/1", 0u, "", "/",
                                      "scratch.mount", "Scratch", "loaded", "failed", "failed", "",
                                      "/u/2", 7u, "start", "/job/7");
  }
  static int OnPlain(sd_bus_message* message, void* data, sd_bus_error*) {
    Self(data).Log(message, "");
    return sd_bus_reply_method_return(message, "");
  }
  static int OnResetFailed(sd_bus_message* message, void* data, sd_bus_error*) {
    const char* unit = nullptr;
    sd_bus_message_read(message, "s", &unit);
    Self(data).Log(message, unit);
    return sd_bus_reply_method_return(message, "");
  }
  static int OnEnable(sd_bus_message* message, void* data, sd_bus_error*) {
    Self(data).Log(message, "");
    return sd_bus_reply_method_return(message, "ba(sss)", 1, 0);
  }
  static int OnDisable(sd_bus_message* message, void* data, sd_bus_error*) {
    Self(data).Log(message, "");
    return sd_bus_reply_method_return(message, "a(sss)", 0);
  }
  static int OnJob(sd_bus_message* message, void* data, sd_bus_error* error) {
    const char* unit = nullptr;
    sd_bus_message_read(message, "ss", &unit, nullptr);
    Self(data).Log(message, unit);
    if (std::string(unit) != "munge.service")
      return sd_bus_error_set(error, "org.freedesktop.systemd1.NoSuchUnit", "Unit not found.");
    std::string result;
    {
      absl::MutexLock lock(&Self(data).mutex_);
      result = Self(data).result_;
    }
    sd_bus* bus = sd_bus_message_get_bus(message);
    // The end of another job, and the end of this one before its name is known: both may happen.
    for (const char* job : {"/job/7", "/job/8"})
      if (!result.empty())
        sd_bus_emit_signal(bus, internal::kManagerPath, internal::kManager, "JobRemoved", "uoss",
                           8u, job, unit, std::string(job) == "/job/8" ? result.c_str() : "done");
    return sd_bus_reply_method_return(message, "o", "/job/8");
  }
  static int OnProperty(sd_bus*, const char*, const char*, const char* property,
                        sd_bus_message* reply, void* data, sd_bus_error*) {
    const std::string name = property;
    absl::MutexLock lock(&Self(data).mutex_);
    if (name == "Type") return sd_bus_message_append(reply, "s", Self(data).type_.c_str());
    if (name == "RemainAfterExit") return sd_bus_message_append(reply, "b", 0);
    if (name == "ConditionResult") return sd_bus_message_append(reply, "b", 1);
    if (name == "Result") return sd_bus_message_append(reply, "s", "success");
    if (name == "ExecMainExitTimestampMonotonic") return sd_bus_message_append(reply, "t", 7ul);
    if (name == "ActiveState" && Self(data).reads_left_-- == 0) Self(data).active_state_ = "failed";
    if (name == "ActiveState" && --Self(data).reads_to_act_ == 0) Self(data).act_();
    if (name == "Job")
      return --Self(data).job_looks_ >= 0 ? sd_bus_message_append(reply, "(uo)", 8u, "/job/8")
                                          : sd_bus_message_append(reply, "(uo)", 0u, "/");
    if (name == "NeedDaemonReload") return sd_bus_message_append(reply, "b", 1);
    return sd_bus_message_append(reply, "s",
                                 name == "ActiveState" ? Self(data).active_state_.c_str()
                                 : name == "LoadState" ? "loaded"
                                 : name == "SubState"  ? "running"
                                                       : "enabled");
  }

  void Serve(const std::string& address) {
    static const sd_bus_vtable kManagerTable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("LoadUnit", "s", "o", OnLoad, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("ListUnitsFiltered", "as", "a(ssssssouso)", OnList,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("Subscribe", "", "", OnPlain, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("Reload", "", "", OnPlain, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("StartUnit", "ss", "o", OnJob, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("StopUnit", "ss", "o", OnJob, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("RestartUnit", "ss", "o", OnJob, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("ReloadOrRestartUnit", "ss", "o", OnJob, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("ResetFailedUnit", "s", "", OnResetFailed, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("EnableUnitFiles", "asbb", "ba(sss)", OnEnable, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("DisableUnitFiles", "asb", "a(sss)", OnDisable, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("MaskUnitFiles", "asbb", "a(sss)", OnDisable, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("UnmaskUnitFiles", "asb", "a(sss)", OnDisable, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END};
    static const sd_bus_vtable kUnitTable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("LoadState", "s", OnProperty, 0, 0),
        SD_BUS_PROPERTY("ActiveState", "s", OnProperty, 0, 0),
        SD_BUS_PROPERTY("SubState", "s", OnProperty, 0, 0),
        SD_BUS_PROPERTY("UnitFileState", "s", OnProperty, 0, 0),
        SD_BUS_PROPERTY("NeedDaemonReload", "b", OnProperty, 0, 0),
        SD_BUS_PROPERTY("Job", "(uo)", OnProperty, 0, 0),
        SD_BUS_PROPERTY("ConditionResult", "b", OnProperty, 0, 0),
        SD_BUS_VTABLE_END};
    static const sd_bus_vtable kServiceTable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Type", "s", OnProperty, 0, 0),
        SD_BUS_PROPERTY("RemainAfterExit", "b", OnProperty, 0, 0),
        SD_BUS_PROPERTY("Result", "s", OnProperty, 0, 0),
        SD_BUS_PROPERTY("ExecMainExitTimestampMonotonic", "t", OnProperty, 0, 0),
        SD_BUS_VTABLE_END};
    const BusHandle bus = *OpenSystemd(address);
    sd_bus_add_object_vtable(bus.get(), nullptr, internal::kManagerPath, internal::kManager,
                             kManagerTable, this);
    sd_bus_add_object_vtable(bus.get(), nullptr, kUnitPath, "org.freedesktop.systemd1.Unit",
                             kUnitTable, this);
    sd_bus_add_object_vtable(bus.get(), nullptr, kUnitPath, "org.freedesktop.systemd1.Service",
                             kServiceTable, this);
    if (sd_bus_request_name(bus.get(), internal::kService, 0) < 0) std::abort();
    ready_.Notify();
    while (!stop_) {
      while (sd_bus_process(bus.get(), nullptr) > 0) {
      }
      if (sd_bus_wait(bus.get(), 20'000) == -ENOTCONN) break;
    }
  }

  std::atomic<bool> stop_ = false;
  absl::Notification ready_;
  absl::Mutex mutex_;
  std::string result_ ABSL_GUARDED_BY(mutex_) = "done";
  std::string type_ ABSL_GUARDED_BY(mutex_) = "simple";
  int reads_left_ ABSL_GUARDED_BY(mutex_) = 1000;
  int reads_to_act_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void()> act_ ABSL_GUARDED_BY(mutex_);
  int job_looks_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string active_state_ ABSL_GUARDED_BY(mutex_) = "active";
  std::vector<std::string> log_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last: it uses the members above
};

class SdBusUnitManagerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (bus_.address().empty()) FAIL() << "dbus-daemon is not installed; run ./dev deps";
    systemd_ = std::make_unique<SmallSystemd>(bus_.address());
    processes_.On("journalctl --sync", FakeProcessRunner::Prints(""));
    processes_.On("journalctl --unit munge.service --since @",
                  FakeProcessRunner::Prints("munged: key is too short\n"));
    units_ =
        std::make_unique<SdBusUnitManager>(processes_, clock_, bus_.address(), absl::Seconds(1));
  }

  PrivateBus bus_;
  testing::FakeClock clock_;
  testing::FakeProcessRunner processes_;
  std::unique_ptr<SmallSystemd> systemd_;
  std::unique_ptr<SdBusUnitManager> units_;
};

TEST_F(SdBusUnitManagerTest, ReadsTheStatus) {
  const auto status = units_->GetStatus("munge.service");
  ASSERT_OK(status);
  EXPECT_EQ(status->load_state, "loaded");
  EXPECT_EQ(status->active_state, "active");
  EXPECT_EQ(status->sub_state, "running");
  EXPECT_EQ(status->unit_file_state, "enabled");
  EXPECT_TRUE(status->need_daemon_reload);
}

TEST_F(SdBusUnitManagerTest, ListsUnitsThatFailed) {
  const auto failed = units_->ListFailed();
  ASSERT_OK(failed);
  EXPECT_THAT(*failed, ::testing::ElementsAre("backup.service", "scratch.mount"));
  EXPECT_THAT(systemd_->log(), ::testing::ElementsAre("ListUnitsFiltered failed"));
}

TEST_F(SdBusUnitManagerTest, TellsWhetherAOneshotHasRun) {
  systemd_->SetResult("done", "inactive");
  EXPECT_FALSE(units_->GetStatus("munge.service")->ends_by_itself);
  systemd_->SetType("oneshot");
  const auto status = units_->GetStatus("munge.service");
  ASSERT_OK(status);
  EXPECT_TRUE(status->ends_by_itself);
  EXPECT_TRUE(status->ended_well);
  EXPECT_TRUE(status->conditions_held);
}

TEST_F(SdBusUnitManagerTest, WaitsForTheEndOfItsOwnJob) {
  EXPECT_OK(units_->Run(UnitJob::kStart, "munge.service"));
  EXPECT_OK(units_->Run(UnitJob::kReloadOrRestart, "munge.service"));
  EXPECT_THAT(systemd_->log(), ElementsAre("Subscribe", "StartUnit munge.service", "Subscribe",
                                           "ReloadOrRestartUnit munge.service"));
}

TEST_F(SdBusUnitManagerTest, TellsWhyAJobFailed) {
  systemd_->SetResult("failed", "failed");
  EXPECT_THAT(units_->Run(UnitJob::kRestart, "munge.service"),
              StatusIs(absl::StatusCode::kInternal, Said()));
  systemd_->SetResult("dependency", "inactive");
  EXPECT_THAT(units_->Run(UnitJob::kStart, "munge.service"),
              StatusIs(absl::StatusCode::kInternal, Said()));
  systemd_->SetResult("done", "failed");
  EXPECT_THAT(units_->Run(UnitJob::kStart, "munge.service"),
              StatusIs(absl::StatusCode::kInternal, Said()));
  EXPECT_OK(units_->Run(UnitJob::kStop, "munge.service"));
}

TEST_F(SdBusUnitManagerTest, ShowsTheEndOfALongJournal) {
  std::string journal;
  for (int line = 1; line <= 12; ++line) absl::StrAppend(&journal, "line ", line, "\n");
  processes_.On("journalctl --unit munge.service --since @", FakeProcessRunner::Prints(journal));
  systemd_->SetResult("failed", "failed");
  EXPECT_THAT(units_->Run(UnitJob::kStart, "munge.service"),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("journal:\nline 3\n"), EndsWith("\nline 12"))));
}

TEST_F(SdBusUnitManagerTest, NoticesAProgramThatDiesRightAfterItsStart) {
  systemd_->DieAfterReads(3);
  EXPECT_THAT(units_->Run(UnitJob::kStart, "munge.service"),
              StatusIs(absl::StatusCode::kInternal, Said()));
}

TEST_F(SdBusUnitManagerTest, NamesAUnitThatDoesNotExist) {
  EXPECT_THAT(units_->Run(UnitJob::kStart, "no.service"),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(SdBusUnitManagerTest, GivesUpAJobThatNeverEnds) {
  systemd_->SetResult("", "activating");
  EXPECT_THAT(units_->Run(UnitJob::kStart, "munge.service"),
              StatusIs(absl::StatusCode::kDeadlineExceeded, Said()));
}

TEST_F(SdBusUnitManagerTest, LetsAUnitThatFailedTooOftenStartAgain) {
  systemd_->SetResult("done", "failed");
  EXPECT_THAT(units_->Run(UnitJob::kStart, "munge.service"),
              StatusIs(absl::StatusCode::kInternal, Said()));
  EXPECT_THAT(systemd_->log(),
              ElementsAre("Subscribe", "ResetFailedUnit munge.service", "StartUnit munge.service"));
}

TEST_F(SdBusUnitManagerTest, ReadsUnitFilesAgainAfterItChangedThem) {
  ASSERT_OK(units_->SetEnabled("munge.service", true));
  ASSERT_OK(units_->SetEnabled("munge.service", false));
  ASSERT_OK(units_->SetMasked("munge.service", true));
  ASSERT_OK(units_->SetMasked("munge.service", false));
  ASSERT_OK(units_->DaemonReload());
  EXPECT_THAT(systemd_->log(), ElementsAre("EnableUnitFiles", "Reload", "DisableUnitFiles",
                                           "DisableUnitFiles", "Reload", "MaskUnitFiles", "Reload",
                                           "UnmaskUnitFiles", "Reload", "Reload"));
}

TEST_F(SdBusUnitManagerTest, SaysWhenThereIsNoSystemd) {
  const absl::Time start = clock_.Now();
  SdBusUnitManager nowhere(processes_, clock_, "unix:path=/no/such/socket");
  EXPECT_THAT(nowhere.GetStatus("munge.service"), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_GE(clock_.Now() - start, kConnectPatience);
}

// Makes the socket appear at the third look.
class ClockOfARestart final : public Clock {
 public:
  ClockOfARestart(std::string socket, std::string path)
      : socket_(std::move(socket)), path_(std::move(path)) {}
  absl::Time Now() override { return clock_.Now(); }
  bool AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                  absl::Time deadline) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return clock_.AwaitUntil(mutex, condition, deadline);
  }
  void Sleep(absl::Duration duration) override {
    clock_.Sleep(duration);
    if (++sleeps_ == 2) std::filesystem::create_symlink(socket_, path_);
  }

 private:
  const std::string socket_, path_;
  testing::FakeClock clock_;
  int sleeps_ = 0;
};

TEST_F(SdBusUnitManagerTest, WaitsForASystemdThatExecutesItselfAnew) {
  const testing::TempDir temp;
  const std::string path = temp.path() + "/private";
  ClockOfARestart clock(bus_.socket(), path);
  SdBusUnitManager units(processes_, clock, "unix:path=" + path);
  EXPECT_OK(units.GetStatus("munge.service"));
}

// A systemd that executes itself anew drops its connections, and is reached by the same path then.
class DroppedConnectionTest : public SdBusUnitManagerTest {
 protected:
  void SetUp() override {
    SdBusUnitManagerTest::SetUp();
    if (HasFatalFailure()) return;
    later_ = std::make_unique<SmallSystemd>(later_bus_.address());
    std::filesystem::create_symlink(bus_.socket(), path_);
    units_ = std::make_unique<SdBusUnitManager>(processes_, clock_, "unix:path=" + path_,
                                                absl::Seconds(1));
  }
  // When the unit's state is read for the last time of so many.
  void DropAtRead(int reads) {
    systemd_->ActAtRead(reads, [this] {
      std::filesystem::remove(path_);
      std::filesystem::create_symlink(later_bus_.socket(), path_);
      bus_.End();
    });
  }

  testing::TempDir temp_;
  const std::string path_ = temp_.path() + "/private";
  PrivateBus later_bus_;
  std::unique_ptr<SmallSystemd> later_;
};

TEST_F(DroppedConnectionTest, ReadsAgain) {
  DropAtRead(1);
  const auto status = units_->GetStatus("munge.service");
  ASSERT_OK(status);
  EXPECT_EQ(status->active_state, "active");
}

// The state is read once before the job is queued.
TEST_F(DroppedConnectionTest, QueuesAJobThatSystemdDoesNotHave) {
  DropAtRead(1);
  EXPECT_OK(units_->Run(UnitJob::kRestart, "munge.service"));
  EXPECT_THAT(systemd_->log(), ElementsAre("Subscribe"));
  EXPECT_THAT(later_->log(), ElementsAre("Subscribe", "RestartUnit munge.service"));
}

TEST_F(DroppedConnectionTest, FollowsAJobThatSystemdHas) {
  later_->KeepJob(3);
  DropAtRead(2);
  EXPECT_OK(units_->Run(UnitJob::kStart, "munge.service"));
  EXPECT_THAT(systemd_->log(), ElementsAre("Subscribe", "StartUnit munge.service"));
  EXPECT_THAT(later_->log(), ::testing::IsEmpty());
}

TEST_F(DroppedConnectionTest, JudgesAJobByTheStateThatItLeft) {
  later_->SetResult("", "failed");
  DropAtRead(2);
  EXPECT_THAT(units_->Run(UnitJob::kStart, "munge.service"),
              StatusIs(absl::StatusCode::kInternal, Said()));
}

TEST_F(DroppedConnectionTest, GivesUpAJobThatNeverEnds) {
  later_->KeepJob(1'000'000);
  DropAtRead(2);
  EXPECT_THAT(units_->Run(UnitJob::kStart, "munge.service"),
              StatusIs(absl::StatusCode::kDeadlineExceeded, Said()));
}

}  // namespace
}  // namespace muster::agent
