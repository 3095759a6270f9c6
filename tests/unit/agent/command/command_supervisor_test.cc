#include "agent/command/command_supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/sys/process/process_control.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::StartCommand Command(const std::string& id) {
  v1::StartCommand command;
  command.set_command_id(id);
  command.add_argv("sleep");
  return command;
}

// Commands run until the test lets them end, or they are stopped.
class CommandSupervisorTest : public ::testing::Test {
 protected:
  void Start(const std::string& id) {
    supervisor_.Start(Command(id));
    absl::MutexLock lock(&mutex_);
    const auto has_begun = [&] { return begun_.count(id) > 0; };
    ASSERT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&has_begun), absl::Seconds(10)));
  }
  void Stop(const std::string& id) {
    v1::StopCommand stop;
    stop.set_command_id(id);
    supervisor_.Stop(stop);
  }
  void LetEnd(const std::string& id) {
    absl::MutexLock lock(&mutex_);
    may_end_.insert(id);
  }
  // The results to send once there are so many, as "ID OUTCOME".
  std::vector<std::string> Due(size_t count) {
    std::vector<std::string> due;
    const absl::Time end = absl::Now() + absl::Seconds(10);
    while (due.size() < count && absl::Now() < end) {
      for (const v1::AgentMessage& message : supervisor_.TakeDue()) {
        const v1::CommandResult& result = message.command_result();
        due.push_back(
            absl::StrCat(result.command_id(), " ", static_cast<int>(result.end().outcome())));
      }
      absl::SleepFor(absl::Milliseconds(1));
    }
    return due;
  }

  absl::Mutex mutex_;
  std::set<std::string> begun_;
  std::set<std::string> may_end_;
  CommandSupervisor supervisor_{
      [this](const v1::StartCommand& command, sys::ProcessControl& control) {
        v1::CommandEnd end;
        end.set_outcome(v1::COMMAND_OUTCOME_EXITED);
        {
          absl::MutexLock lock(&mutex_);
          begun_.insert(command.command_id());
        }
        while (true) {
          if (control.Take().stop_after.has_value()) {
            end.set_outcome(v1::COMMAND_OUTCOME_STOPPED);
            return end;
          }
          absl::MutexLock lock(&mutex_);
          if (may_end_.count(command.command_id()) > 0) return end;
          const auto never = [] { return false; };
          mutex_.AwaitWithTimeout(absl::Condition(&never), absl::Milliseconds(1));
        }
      },
      [] {}};
};

TEST_F(CommandSupervisorTest, RunsSomeAtOnceAndRefusesMore) {
  for (size_t i = 0; i < CommandSupervisor::kMaxRunning; ++i) Start(absl::StrCat("x-", i));
  supervisor_.Start(Command("x-more"));
  EXPECT_THAT(Due(1), ElementsAre(absl::StrCat("x-more ", v1::COMMAND_OUTCOME_NOT_RUN)));
  LetEnd("x-1");
  EXPECT_THAT(Due(1), ElementsAre(absl::StrCat("x-1 ", v1::COMMAND_OUTCOME_EXITED)));
  Start("x-next");
}

TEST_F(CommandSupervisorTest, StopsTheOneThatIsNamed) {
  Start("x-1");
  Start("x-2");
  Stop("x-3");
  Stop("x-2");
  EXPECT_THAT(Due(1), ElementsAre(absl::StrCat("x-2 ", v1::COMMAND_OUTCOME_STOPPED)));
  LetEnd("x-1");
  EXPECT_THAT(Due(1), ElementsAre(absl::StrCat("x-1 ", v1::COMMAND_OUTCOME_EXITED)));
}

TEST_F(CommandSupervisorTest, ACommandEndsWithItsConnection) {
  Start("x-1");
  LetEnd("x-2");
  Start("x-2");
  supervisor_.OnDisconnected();
  LetEnd("x-3");
  Start("x-3");
  // The next connection gets the results of its own commands alone.
  EXPECT_THAT(Due(1), ElementsAre(absl::StrCat("x-3 ", v1::COMMAND_OUTCOME_EXITED)));
  supervisor_.Shutdown();
  EXPECT_THAT(supervisor_.TakeDue(), IsEmpty());
}

TEST_F(CommandSupervisorTest, NoneSurvivesTheAgent) {
  Start("x-1");
  supervisor_.Shutdown();
  supervisor_.Start(Command("x-2"));
  EXPECT_THAT(Due(2), ElementsAre(absl::StrCat("x-1 ", v1::COMMAND_OUTCOME_STOPPED),
                                  absl::StrCat("x-2 ", v1::COMMAND_OUTCOME_NOT_RUN)));
}

}  // namespace
}  // namespace muster::agent
