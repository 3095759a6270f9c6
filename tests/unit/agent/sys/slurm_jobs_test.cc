#include "agent/sys/slurm_jobs.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/sys/file_system.h"
#include "tests/fakes/fake_accounts.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uid_t kNobody = 65534;

TEST(SlurmJobsTest, TellsAJobByTheNameOfItsStepDaemon) {
  const struct {
    const char* command_line;
    const char* job;
  } kCases[] = {
      {"slurmstepd: [1234.batch]", "1234"},
      {"slurmstepd: [1234.0]", "1234"},
      {"slurmstepd: [1235_7.extern]", "1235_7"},
      {"slurmstepd: [99]", "99"},
      {"slurmstepd: [77+1.0]", "77+1"},
      {"slurmstepd infinity", ""},
      {"/usr/sbin/slurmstepd", ""},
      {"slurmstepd: [", ""},
      {"slurmstepd: [.batch]", ""},
      {"slurmstepd: [12 34.batch]", ""},
      {"vim slurmstepd: [1234.batch]", ""},
      {"", ""},
  };
  for (const auto& [command_line, job] : kCases) EXPECT_EQ(JobOfCommandLine(command_line), job);
}

TEST(SlurmJobsTest, AProcessIsRootsOwnByItsRealUid) {
  EXPECT_TRUE(IsRootsOwn("Name:\tslurmstepd\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"));
  // slurmstepd while it acts as the job's user.
  EXPECT_TRUE(IsRootsOwn("Uid:\t0\t1001\t0\t1001\n"));
  EXPECT_FALSE(IsRootsOwn("Uid:\t1001\t0\t0\t0\n"));
  EXPECT_FALSE(IsRootsOwn("Uid:\t01\t0\t0\t0\n"));
  EXPECT_FALSE(IsRootsOwn("Name:\tUid: 0\n"));
  EXPECT_FALSE(IsRootsOwn(""));
}

class FakeProc {
 public:
  void Add(int pid, const std::string& command_line, uid_t uid = 0, int parent = 1) {
    files.AddFile(absl::StrCat("/proc/", pid, "/cmdline"), command_line);
    files.AddFile(absl::StrCat("/proc/", pid, "/status"),
                  absl::StrCat("Name:\tx\nPPid:\t", parent, "\nUid:\t", uid, "\t0\t0\t0\n"));
  }
  void AddEnvironment(int pid, const std::string& environment) {
    files.AddFile(absl::StrCat("/proc/", pid, "/environ"), environment);
  }
  std::vector<SlurmJob> Jobs() { return RunningSlurmJobs(files, accounts).value(); }
  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const SlurmJob& job : Jobs()) ids.push_back(job.id);
    return ids;
  }
  testing::FakeFileSystem files;
  testing::FakeAccounts accounts;
};

TEST(SlurmJobsTest, ListsEachJobOnce) {
  FakeProc proc;
  proc.Add(1, "/sbin/init");
  proc.Add(40, std::string("slurmstepd: [8.batch]\0\0\0", 24));
  proc.Add(41, "slurmstepd: [8.extern]");
  proc.Add(42, "slurmstepd: [11.0]");
  proc.Add(43, "slurmstepd infinity");
  proc.Add(44, "slurmstepd: [12.0]", kNobody);
  proc.files.AddFile("/proc/self/cmdline", "slurmstepd: [1.0]");
  proc.files.AddFile("/proc/45/cmdline", "slurmstepd: [13.0]");  // has ended meanwhile
  proc.files.AddDirectory("/proc/50");                           // has ended
  EXPECT_THAT(proc.Ids(), ElementsAre("11", "8"));
}

TEST(SlurmJobsTest, AMachineWithoutJobsHasNone) {
  FakeProc proc;
  proc.Add(1, "/sbin/init");
  EXPECT_THAT(proc.Ids(), IsEmpty());
}

TEST(SlurmJobsTest, TellsWhoseAJobIsAndWhatItIsCalled) {
  FakeProc proc;
  proc.accounts.users["eve"] = {.name = "eve", .uid = 1001};
  proc.Add(40, "slurmstepd: [8.extern]");
  proc.Add(41, "slurmstepd: [8.batch]");
  proc.Add(42, "sleep", 1001, 40);  // the step that represents the job has no text of its own
  proc.Add(43, "/bin/sh", 1001, 41);
  proc.AddEnvironment(43, std::string("PATH=/bin\0SLURM_JOB_NAME=tr\nain\0SLURM_JOB_ID=9\0", 47));
  proc.Add(50, "slurmstepd: [9.0]");
  proc.Add(51, "python3", 4711, 50);  // nobody has that uid here
  proc.AddEnvironment(51, "");
  proc.Add(60, "slurmstepd: [11.0]");  // has not begun
  // A user's own process cannot make claims about another's job, whatever its name is.
  proc.Add(70, "slurmstepd: [8.0]", 1002);
  proc.Add(71, "sh", 1002, 70);
  proc.AddEnvironment(71, "SLURM_JOB_NAME=forged");
  EXPECT_EQ(Describe(proc.Jobs()), "jobs 11, 8 (eve, tr ain) and 9 (uid 4711)");
}

TEST(SlurmJobsTest, FindsAVariableByItsWholeName) {
  const std::string environment("SLURM_JOB_NAME_X=a\0SLURM_JOB_NAME=b=c\0SLURM_JOB_NAME=d", 55);
  EXPECT_EQ(VariableOf(environment, "SLURM_JOB_NAME"), "b=c");
  EXPECT_EQ(VariableOf(environment, "PATH"), "");
  EXPECT_EQ(VariableOf("", "PATH"), "");
}

// A real process with a chosen name and these uids; the destructor ends it.
class NamedProcess {
 public:
  NamedProcess(const char* name, uid_t real, uid_t effective) : pid_(fork()) {
    if (pid_ != 0) return;
    if (setresuid(real, effective, real) != 0) _exit(1);
    execl("/bin/sleep", name, "60", nullptr);
    _exit(1);
  }
  ~NamedProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  // Whether it has taken its name yet.
  bool HasBegun() const {
    const auto line = sys::RealFileSystem().Read(absl::StrCat("/proc/", pid_, "/cmdline"));
    return line.ok() && !JobOfCommandLine(*line).empty();
  }

 private:
  const pid_t pid_;
};

// Any user could keep a node from its reboots by naming a process like a job's.
TEST(SlurmJobsTest, AUsersProcessNamedSlurmstepdIsNoJob) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to act as a user";
  const NamedProcess user("slurmstepd: [990001.0]", kNobody, kNobody);
  // Like a set-uid program of root's, started by a user.
  const NamedProcess setuid("slurmstepd: [990002.0]", kNobody, 0);
  const NamedProcess root("slurmstepd: [990003.0]", 0, 0);
  for (int i = 0; i < 1000; ++i) {
    if (user.HasBegun() && setuid.HasBegun() && root.HasBegun()) break;
    absl::SleepFor(absl::Milliseconds(10));
  }
  ASSERT_TRUE(user.HasBegun() && setuid.HasBegun() && root.HasBegun());
  sys::RealFileSystem files;
  testing::FakeAccounts accounts;
  std::vector<std::string> jobs;
  const std::vector<SlurmJob> found = RunningSlurmJobs(files, accounts).value();
  for (const SlurmJob& job : found) jobs.push_back(job.id);
  EXPECT_THAT(jobs, Contains("990003"));
  EXPECT_THAT(jobs, Not(Contains("990001")));
  EXPECT_THAT(jobs, Not(Contains("990002")));
}

}  // namespace
}  // namespace muster::agent
