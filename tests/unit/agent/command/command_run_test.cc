#include "agent/command/command_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/command_limits.h"
#include "common/base/proto_time.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "common/sys/process/process_control.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fakes/fake_unit_manager.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

v1::StartCommand Command(std::vector<std::string> argv) {
  v1::StartCommand command;
  command.set_command_id("x-7k3m9q2x");
  command.mutable_argv()->Assign(argv.begin(), argv.end());
  *command.mutable_time_limit() = ToProtoDuration(absl::Seconds(60));
  return command;
}

TEST(CheckCommandTest, RefusesWhatNoUnitNameOrProgramCanBe) {
  struct Case {
    const char* what;
    std::function<void(v1::StartCommand&)> spoil;
  };
  const Case cases[] = {
      {"no id", [](auto& c) { c.clear_command_id(); }},
      {"a path as id", [](auto& c) { c.set_command_id("../x"); }},
      {"a glob as id", [](auto& c) { c.set_command_id("*"); }},
      {"no program", [](auto& c) { c.clear_argv(); }},
      {"an empty program", [](auto& c) { c.set_argv(0, ""); }},
      {"a NUL", [](auto& c) { c.add_argv(std::string("a\0b", 3)); }},
      {"too many arguments",
       [](auto& c) {
         for (int i = 0; i < kMaxCommandArguments; ++i) c.add_argv("a");
       }},
      {"too long arguments", [](auto& c) { c.add_argv(std::string(kMaxCommandBytes, 'a')); }},
      {"no limit", [](auto& c) { c.clear_time_limit(); }},
      {"a negative limit", [](auto& c) { c.mutable_time_limit()->set_seconds(-1); }},
      {"more than an hour", [](auto& c) { c.mutable_time_limit()->set_seconds(3601); }},
  };
  EXPECT_OK(CheckCommand(Command({"uptime"})));
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    v1::StartCommand command = Command({"uptime"});
    each.spoil(command);
    EXPECT_EQ(CheckCommand(command).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(DescribeEndTest, TellsHowAProgramEnded) {
  EXPECT_EQ(DescribeEnd({.exit_code = 3}, 0).exit_status(), 3u);
  EXPECT_EQ(DescribeEnd({.exit_code = 3}, 0).outcome(), v1::COMMAND_OUTCOME_EXITED);
  EXPECT_EQ(DescribeEnd({.signal = SIGSEGV}, 0).outcome(), v1::COMMAND_OUTCOME_SIGNALED);
  EXPECT_EQ(DescribeEnd({.signal = SIGSEGV}, 0).signal(), static_cast<uint32_t>(SIGSEGV));
  EXPECT_EQ(DescribeEnd({.signal = SIGTERM, .timed_out = true}, 0).outcome(),
            v1::COMMAND_OUTCOME_TIMED_OUT);
  EXPECT_EQ(DescribeEnd({.signal = SIGTERM, .stopped = true}, 0).outcome(),
            v1::COMMAND_OUTCOME_STOPPED);
}

TEST(DescribeEndTest, OutputReachesNoTerminalAsItCame) {
  const v1::CommandEnd end = DescribeEnd({.output = "\x1b[31mred\x1b[0m\n\x07"
                                                    "a\xff\n"},
                                         20);
  EXPECT_THAT(end.output(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(end.output(), Not(HasSubstr("\x07")));
  EXPECT_THAT(end.output(), HasSubstr("red\n"));
  EXPECT_THAT(end.output(), HasSubstr("\xef\xbf\xbd"));
  EXPECT_EQ(end.bytes_left_out(), 0u);
}

TEST(DescribeEndTest, KeepsTheEndOfALongOutputAndCountsTheRest) {
  std::string output;
  for (int i = 0; output.size() < 100'000; ++i) output += absl::StrCat("line ", i, "\n");
  const v1::CommandEnd end = DescribeEnd({.output = output}, 1'000'000);
  EXPECT_LE(end.output().size(), kMaxCommandOutput);
  EXPECT_TRUE(absl::EndsWith(output, end.output()));
  EXPECT_TRUE(absl::StartsWith(end.output(), "line "));
  EXPECT_EQ(end.output().size() + end.bytes_left_out(), 1'000'000u);
}

class CommandRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.AddFile("/usr/bin/uptime", "", 0755);
    processes_.On("systemd-run", muster::testing::FakeProcessRunner::Prints("up 3 days\n"));
  }

  muster::testing::FakeFileSystem files_;
  muster::testing::FakeProcessRunner processes_;
  muster::testing::FakeUnitManager units_;
  sys::ProcessControl control_;
  CommandRunner runner_{files_, processes_, units_};
};

TEST_F(CommandRunnerTest, RunsInAScopeOfWhichNothingIsLeft) {
  units_.units["muster-exec-x-7k3m9q2x.scope"].status.active_state = "active";
  v1::StartCommand command = Command({"uptime", "-p; reboot", "$HOME"});
  const v1::CommandEnd end = runner_.Run(command, control_);
  EXPECT_EQ(end.outcome(), v1::COMMAND_OUTCOME_EXITED);
  EXPECT_EQ(end.output(), "up 3 days\n");
  ASSERT_EQ(processes_.specs().size(), 1u);
  const sys::ProcessSpec& spec = processes_.specs()[0];
  EXPECT_THAT(spec.argv, Contains("--scope"));
  EXPECT_THAT(spec.argv, Contains("--unit=muster-exec-x-7k3m9q2x.scope"));
  const auto own = std::find(spec.argv.begin(), spec.argv.end(), "--");
  EXPECT_THAT(std::vector<std::string>(own + 1, spec.argv.end()),
              ElementsAre("uptime", "-p; reboot", "$HOME"));
  EXPECT_EQ(spec.timeout, absl::Seconds(60));
  EXPECT_TRUE(spec.die_with_parent);
  EXPECT_TRUE(control_.Take().close_input);
  EXPECT_THAT(units_.log(), ElementsAre("stop muster-exec-x-7k3m9q2x.scope"));
}

TEST_F(CommandRunnerTest, NothingRunsWithoutAProgramOrSystemd) {
  const v1::CommandEnd unknown = runner_.Run(Command({"upitme"}), control_);
  EXPECT_EQ(unknown.outcome(), v1::COMMAND_OUTCOME_NOT_RUN);
  EXPECT_THAT(unknown.message(), HasSubstr("'upitme'"));
  EXPECT_EQ(runner_.Run(Command({"/usr/bin/downtime"}), control_).outcome(),
            v1::COMMAND_OUTCOME_NOT_RUN);
  EXPECT_TRUE(processes_.commands().empty());
  EXPECT_EQ(runner_.Run(Command({"/usr/bin/uptime"}), control_).outcome(),
            v1::COMMAND_OUTCOME_EXITED);

  muster::testing::FakeProcessRunner bare;
  EXPECT_EQ(CommandRunner(files_, bare, units_).Run(Command({"uptime"}), control_).outcome(),
            v1::COMMAND_OUTCOME_NOT_RUN);
}

TEST_F(CommandRunnerTest, SaysWhenTheScopeDoesNotEnd) {
  units_.units["muster-exec-x-7k3m9q2x.scope"].job_error = absl::DeadlineExceededError("hangs");
  EXPECT_THAT(runner_.Run(Command({"uptime"}), control_).message(), EndsWith("hangs"));
}

TEST_F(CommandRunnerTest, EndsTheScopesOfAnEarlierAgent) {
  processes_.On("systemctl", muster::testing::FakeProcessRunner::Prints(""));
  EXPECT_OK(runner_.EndLeftovers());
  EXPECT_THAT(processes_.commands(), ElementsAre("systemctl stop muster-exec-*.scope"));
}

}  // namespace
}  // namespace muster::agent
