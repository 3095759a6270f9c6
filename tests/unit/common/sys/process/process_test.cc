#include "common/sys/process/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/sys/process/process_output.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/unreapable.h"

namespace {

// How far the wall clock of this test program is ahead of the machine's.
std::atomic<int64_t> wall_clock_step_seconds = 0;

}  // namespace

// In place of the C library's.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const int result = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += wall_clock_step_seconds.load();
  return result;
}

namespace muster::sys {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ProcessSpec Shell(const std::string& script) { return {.argv = {"sh", "-c", script}}; }

TEST(Process, ReportsHowAProgramEnded) {
  RealProcessRunner runner;
  EXPECT_TRUE(runner.Run({.argv = {"true"}}).value().ok());
  EXPECT_EQ(runner.Run(Shell("exit 7")).value().exit_code, 7);
  EXPECT_EQ(runner.Run(Shell("kill -9 $$")).value().signal, SIGKILL);
}

TEST(Process, SeparatesOutputAndKeepsTheOrder) {
  RealProcessRunner runner;
  const ProcessResult result =
      runner.Run(Shell("echo one; sleep 0.05; echo two >&2; sleep 0.05; printf three")).value();
  EXPECT_EQ(result.out, "one\nthree");
  EXPECT_EQ(result.output, "one\ntwo\nthree");
}

TEST(Process, GivesAMinimalEnvironmentAndNothingElse) {
  ::setenv("MUSTER_TEST_SECRET", "leaked", 1);
  RealProcessRunner runner;
  ProcessSpec spec = {.argv = {"env"}, .environment = {{"EXTRA", "1"}, {"HOME", "/tmp"}}};
  const std::string out = runner.Run(spec).value().out;
  EXPECT_THAT(out, HasSubstr("EXTRA=1\n"));
  EXPECT_THAT(out, HasSubstr("HOME=/tmp\n"));
  EXPECT_THAT(out, HasSubstr(absl::StrCat("PATH=", kStandardPath, "\n")));
  EXPECT_THAT(out, Not(HasSubstr("MUSTER_TEST_SECRET")));
}

TEST(Process, InheritsNoDescriptors) {
  const int leak = ::open("/dev/null", 0);  // without O_CLOEXEC, on purpose
  RealProcessRunner runner;
  EXPECT_EQ(runner.Run(Shell("ls /proc/self/fd | tr '\\n' ' '")).value().out, "0 1 2 3 ");
  ::close(leak);
}

TEST(Process, RunsInTheDirectoryWithTheInput) {
  RealProcessRunner runner;
  EXPECT_EQ(runner.Run({.argv = {"pwd"}, .directory = "/usr"}).value().out, "/usr\n");
  const std::string big(1 << 20, 'x');
  EXPECT_EQ(runner.Run({.argv = {"wc", "-c"}, .input = big}).value().out, "1048576\n");
  // A program may leave its input unread.
  EXPECT_TRUE(runner.Run({.argv = {"true"}, .input = big}).value().ok());
}

TEST(Process, NamesWhatCannotBeStarted) {
  RealProcessRunner runner;
  EXPECT_THAT(runner.Run({.argv = {"no-such-program"}}),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(runner.Run({.argv = {"/no/such"}}), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(runner.Run({.argv = {"true"}, .directory = "/no/where"}),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(runner.Run({}), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

// Every line takes longer to process than to write: there is always something to read.
TEST(Process, OneThatWritesFasterThanItIsReadRunsOutOfTimeToo) {
  RealProcessRunner runner;
  ProcessSpec spec;
  spec.argv = {"yes", std::string(1000, 'y')};
  spec.timeout = absl::Milliseconds(200);
  spec.on_line = [](absl::string_view) { absl::SleepFor(absl::Milliseconds(1)); };
  const ProcessResult result = runner.Run(spec).value();
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGTERM);
}

TEST(Process, AllThatWasWrittenIsRead) {
  RealProcessRunner runner;
  ProcessSpec spec = Shell("seq 100000; seq 100000 >&2");
  size_t lines = 0;
  spec.on_line = [&](absl::string_view) { ++lines; };
  EXPECT_TRUE(runner.Run(spec)->ok());
  EXPECT_EQ(lines, 200'000u);
  spec.output_file = ::testing::TempDir() + "all_that_was_written";
  lines = 0;
  EXPECT_TRUE(runner.Run(spec)->ok());
  EXPECT_EQ(lines, 200'000u);
  ::unlink(spec.output_file.c_str());
}

TEST(Process, StopsTheWholeGroupAtTheTimeout) {
  RealProcessRunner runner;
  ProcessSpec spec = Shell("sleep 60 & echo $!; wait");
  spec.timeout = absl::Seconds(2);
  const absl::Time start = absl::Now();
  const ProcessResult result = runner.Run(spec).value();
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
  EXPECT_TRUE(result.timed_out);
  EXPECT_THAT(CheckSuccess(spec, result),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("2s")));
  const pid_t grandchild = std::atoi(result.out.c_str());
  ASSERT_GT(grandchild, 0);
  // Gone, or a zombie that nobody has reaped yet, as soon as the kernel gets to it.
  const auto stat = [grandchild] {
    std::ifstream file(absl::StrCat("/proc/", grandchild, "/stat"));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  };
  const auto is_over = [&stat] {
    return stat().empty() || stat().find(") Z") != std::string::npos;
  };
  for (int tries = 0; tries < 3000 && !is_over(); ++tries) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_TRUE(is_over()) << stat();
}

// As after a boot, when the time service sets the clock while apt is at work. Abseil asks for the
// time every two seconds and counts the processor's cycles in between.
TEST(Process, IsNotEndedByAStepOfTheWallClock) {
  const auto has_stepped = [before = absl::Now()] {
    return absl::Now() - before >= absl::Hours(1);
  };
  ProcessSpec spec = Shell("echo begun; sleep 3; echo done");
  spec.timeout = absl::Minutes(10);
  spec.on_line = [](absl::string_view) { wall_clock_step_seconds = 3600; };
  const ProcessResult result = RealProcessRunner().Run(spec).value();
  EXPECT_TRUE(has_stepped());
  wall_clock_step_seconds = 0;
  for (int tries = 0; tries < 1000 && has_stepped(); ++tries)
    absl::SleepFor(absl::Milliseconds(10));
  EXPECT_FALSE(has_stepped()) << "the tests that follow have the wrong time";
  EXPECT_TRUE(result.ok());
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.out, "begun\ndone\n");
}

// "": there is no such process.
std::string StateOf(int pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::stringstream text;
  text << file.rdbuf();
  const std::vector<std::string> parts = absl::StrSplit(text.str(), ") ");
  return parts.size() < 2 ? "" : parts.back().substr(0, 1);
}
std::string CommandOf(int pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

// Whether a `sleep` that another process runs is dead a second after that process was killed.
bool DiesWithItsParent(bool die_with_parent) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    RealProcessRunner()
        .Run({.argv = {"sleep", "60"},
              .on_started = [&](int pid) { (void)!::write(pipe[1], &pid, sizeof pid); },
              .die_with_parent = die_with_parent})
        .IgnoreError();
    ::_exit(0);
  }
  int child = 0;
  EXPECT_EQ(::read(pipe[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  for (const int fd : pipe) ::close(fd);
  const absl::Time limit = absl::Now() + absl::Seconds(20);
  while (CommandOf(child) != "sleep" && absl::Now() < limit) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(CommandOf(child), "sleep");
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  const auto is_dead = [&] { return StateOf(child) == "" || StateOf(child) == "Z"; };
  const absl::Time end = absl::Now() + (die_with_parent ? absl::Seconds(20) : absl::Seconds(1));
  while (!is_dead() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(5));
  const bool died = is_dead();
  if (!died) ::kill(child, SIGKILL);
  return died;
}

TEST(Process, DiesWithItsParentWhereThatIsAskedFor) {
  EXPECT_TRUE(DiesWithItsParent(true));
  EXPECT_FALSE(DiesWithItsParent(false));
}

TEST(Process, ThatDiesWithItsParentIsLikeAnyOther) {
  RealProcessRunner runner;
  ProcessSpec spec = {.argv = {"sh", "-c", "echo $1; exit 7", "name", "--an argument"},
                      .die_with_parent = true};
  const ProcessResult result = runner.Run(spec).value();
  EXPECT_EQ(result.out, "--an argument\n");
  EXPECT_EQ(result.exit_code, 7);
  spec.argv = {"no-such-program"};
  EXPECT_THAT(runner.Run(spec).status(), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST(Process, GivesUpOnOneThatCannotBeKilled) {
  RealProcessRunner runner;
  testing::Unreapable kernel;
  int child = 0;
  ProcessSpec spec = Shell("trap '' TERM; echo said; sleep 60");
  spec.timeout = absl::Seconds(2);
  spec.unkillable_after = absl::Milliseconds(500);
  spec.on_started = [&](int pid) { kernel.Hold(child = pid); };
  const absl::Time start = absl::Now();
  const ProcessResult result = runner.Run(spec).value();
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
  EXPECT_TRUE(result.unkillable);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.out, "said\n");
  EXPECT_EQ(StateOf(child), "Z");
  // No zombie is left once the kernel lets go.
  kernel.Release();
  for (int tries = 0; tries < 1000 && !StateOf(child).empty(); ++tries)
    absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(StateOf(child), "");
}

TEST(Process, OneThatMustBeWaitedForIsNotGivenUp) {
  RealProcessRunner runner;
  testing::Unreapable kernel;
  ProcessSpec spec = Shell("trap '' TERM; sleep 60");
  spec.timeout = absl::Seconds(2);
  spec.on_started = [&](int pid) { kernel.Hold(pid); };
  const absl::Time start = absl::Now();
  std::thread driver([&] {
    absl::SleepFor(absl::Seconds(8));
    kernel.Release();
  });
  const ProcessResult result = runner.Run(spec).value();
  driver.join();
  EXPECT_GE(absl::Now() - start, absl::Seconds(8));
  EXPECT_FALSE(result.unkillable);
  EXPECT_EQ(result.signal, SIGKILL);
}

TEST(Process, DoesNotWaitForADaemonThatKeepsThePipe) {
  RealProcessRunner runner;
  const absl::Time start = absl::Now();
  const ProcessResult result = runner.Run(Shell("sleep 40 & echo started")).value();
  EXPECT_EQ(result.out, "started\n");
  EXPECT_LT(absl::Now() - start, absl::Seconds(30));
}

TEST(Process, HandsOutLinesAndStatusLines) {
  RealProcessRunner runner;
  std::vector<std::string> lines, status;
  ProcessSpec spec = Shell("echo a; echo 's 1' >&3; printf 'b\\rc'; echo 's 2' >&3");
  spec.on_line = [&](absl::string_view line) { lines.emplace_back(line); };
  spec.on_status_line = [&](absl::string_view line) { status.emplace_back(line); };
  ASSERT_OK(runner.Run(spec));
  EXPECT_THAT(lines, ElementsAre("a", "b", "c"));
  EXPECT_THAT(status, ElementsAre("s 1", "s 2"));
}

TEST(Process, FollowsFilesForProgramsThatMustOutliveUs) {
  std::string folder = ::testing::TempDir() + "/muster-process-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string file = folder + "/log";
  RealProcessRunner runner;
  std::vector<std::string> status;
  ProcessSpec spec = Shell("echo out; echo 's 1' >&3; sleep 0.2; echo err >&2");
  spec.output_file = file;
  spec.on_status_line = [&](absl::string_view line) { status.emplace_back(line); };
  for (int run = 0; run < 2; ++run) {  // the second finds the files of the first
    status.clear();
    const auto result = runner.Run(spec);
    ASSERT_OK(result);
    EXPECT_EQ(result->output, "out\nerr\n");
    EXPECT_THAT(status, ElementsAre("s 1"));
  }
  for (const std::string& name : {file, file + ".status", folder}) ::remove(name.c_str());
}

TEST(Process, KeepsTheEndOfMuchOutput) {
  RealProcessRunner runner;
  ProcessSpec spec = {.argv = {"seq", "1", "100000"}, .max_output = 1000};
  const ProcessResult result = runner.Run(spec).value();
  EXPECT_LE(result.output.size(), 1000u);
  EXPECT_THAT(result.output, ::testing::EndsWith("99999\n100000\n"));
  // No half line at the beginning: the kept numbers are whole and consecutive.
  const std::vector<std::string> lines = absl::StrSplit(result.output, '\n');
  EXPECT_EQ(std::stoi(lines[0]) + 1, std::stoi(lines[1]));
}

TEST(Process, TellsTheLastLinesOfAFailure) {
  RealProcessRunner runner;
  EXPECT_THAT(RunChecked(runner, Shell("echo reason >&2; exit 3")),
              StatusIs(absl::StatusCode::kInternal, "sh failed with exit status 3: reason"));
  EXPECT_THAT(RunChecked(runner, {.argv = {"false"}}),
              StatusIs(absl::StatusCode::kInternal, Said()));
}

TEST(Process, RunsFromManyThreadsAtOnce) {
  RealProcessRunner runner;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&runner, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string text = absl::StrCat(t, "-", i);
        EXPECT_EQ(runner.Run({.argv = {"echo", "-n", text}}).value().out, text);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(LineSplitter, BoundsALineWithoutAnEnd) {
  size_t calls = 0, longest = 0;
  LineSplitter splitter([&](absl::string_view line) {
    ++calls;
    longest = std::max(longest, line.size());
  });
  for (int i = 0; i < 1000; ++i) splitter.Append(std::string(1000, 'x'));
  splitter.Finish();
  EXPECT_GT(calls, 50u);
  EXPECT_LT(longest, 20000u);
}

}  // namespace
}  // namespace muster::sys
