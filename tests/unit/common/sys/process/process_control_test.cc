#include "common/sys/process/process_control.h"

#include <signal.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/sys/process/process.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::sys {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(ProcessControl, AnswersAProgramThatAsks) {
  RealProcessRunner runner;
  ProcessControl control;
  std::vector<std::string> lines;
  ProcessSpec spec = {.argv = {"sh", "-c", "echo ready; read a; echo got $a; cat"}};
  spec.control = &control;
  spec.on_line = [&](absl::string_view line) {
    lines.emplace_back(line);
    if (line == "ready") control.Write("one\n");
    if (line == "got one") {
      control.Write("two\n");
      control.CloseInput();
    }
  };
  const ProcessResult result = runner.Run(spec).value();
  EXPECT_TRUE(result.ok());
  EXPECT_FALSE(result.stopped);
  EXPECT_THAT(lines, ElementsAre("ready", "got one", "two"));
}

TEST(ProcessControl, WakesAProgramThatSaysNothing) {
  RealProcessRunner runner;
  ProcessControl control;
  ProcessSpec spec = {.argv = {"cat"}};
  spec.control = &control;
  absl::Notification started;
  int pid = 0;
  spec.on_started = [&](int id) {
    pid = id;
    started.Notify();
  };
  std::thread other([&] {
    started.WaitForNotification();
    control.Write("late");
    control.CloseInput();
  });
  const ProcessResult result = runner.Run(spec).value();
  other.join();
  EXPECT_EQ(result.out, "late");
  EXPECT_GT(pid, 1);
}

TEST(ProcessControl, WhatWasWishedBeforeTheStartIsDone) {
  RealProcessRunner runner;
  ProcessControl control;
  control.Write("early");
  control.CloseInput();
  ProcessSpec spec = {.argv = {"cat"}};
  spec.control = &control;
  EXPECT_EQ(runner.Run(spec).value().out, "early");
}

TEST(ProcessControl, StopEndsTheWholeGroup) {
  RealProcessRunner runner;
  ProcessControl control;
  ProcessSpec spec = {.argv = {"sh", "-c", "sleep 600 & echo $!; wait"}};
  spec.control = &control;
  int child = 0;
  spec.on_line = [&](absl::string_view line) {
    child = std::stoi(std::string(line));
    control.Stop();
  };
  const ProcessResult result = runner.Run(spec).value();
  EXPECT_TRUE(result.stopped);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.signal, SIGTERM);
  ASSERT_GT(child, 1);
  // Gone, or a zombie that its new parent reaps sooner or later.
  const auto is_over = [child] {
    std::ifstream file(absl::StrCat("/proc/", child, "/stat"));
    std::stringstream text;
    text << file.rdbuf();
    return text.str().empty() || absl::StrContains(text.str(), ") Z");
  };
  const absl::Time patience = absl::Now() + absl::Seconds(30);
  while (!is_over() && absl::Now() < patience) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_TRUE(is_over());
}

TEST(ProcessControl, StopKillsWhoDoesNotListen) {
  RealProcessRunner runner;
  ProcessControl control;
  ProcessSpec spec = {.argv = {"sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"}};
  spec.control = &control;
  spec.on_line = [&](absl::string_view) { control.Stop(); };
  const ProcessResult result = runner.Run(spec).value();
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.signal, SIGKILL);
}

TEST(ProcessControl, AProgramThatReadsNothingIsNotWaitedFor) {
  RealProcessRunner runner;
  ProcessControl control;
  control.Write(std::string(1 << 20, 'x'));
  ProcessSpec spec = {.argv = {"sh", "-c", "exec <&-; exit 3"}};
  spec.control = &control;
  EXPECT_EQ(runner.Run(spec).value().exit_code, 3);
}

TEST(Process, SeparatesLinesOfStandardError) {
  RealProcessRunner runner;
  std::vector<std::string> lines, errors;
  ProcessSpec spec = {.argv = {"sh", "-c", "echo out; echo err >&2"}};
  spec.on_line = [&](absl::string_view line) { lines.emplace_back(line); };
  spec.on_error_line = [&](absl::string_view line) { errors.emplace_back(line); };
  ASSERT_TRUE(runner.Run(spec).value().ok());
  EXPECT_THAT(lines, ElementsAre("out"));
  EXPECT_THAT(errors, ElementsAre("err"));
}

TEST(Process, KeepsLongLinesWhole) {
  RealProcessRunner runner;
  std::vector<std::string> lines;
  ProcessSpec spec = {.argv = {"sh", "-c", "head -c 500000 /dev/zero | tr '\\0' a; echo; echo b"}};
  spec.max_line = 1 << 20;
  spec.on_line = [&](absl::string_view line) { lines.emplace_back(line); };
  ASSERT_TRUE(runner.Run(spec).value().ok());
  EXPECT_THAT(lines, ElementsAre(SizeIs(500000), "b"));
}

}  // namespace
}  // namespace muster::sys
