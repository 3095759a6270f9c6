#include <unistd.h>

#include <csignal>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/agent/resources/resource_test.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CommandTest : public ResourceTest {};

TEST_F(CommandTest, CreatesDecides) {
  node_.processes.On("mk", [this](const sys::ProcessSpec&) {
    node_.files.AddFile("/srv/done", "");
    return FakeProcessRunner::Prints("made\n");
  });
  ExpectConverges(R"(command { argv: ["mk", "it"] creates: "/srv/done" })", {"command"});
  EXPECT_THAT(observer_.output, HasSubstr("made\n"));
  ExpectInSync(R"(command { argv: "mk" creates: "/srv/done" })");
  node_.processes.On("lazy", sys::ProcessResult{});
  EXPECT_THAT(Make(R"(command { argv: "lazy" creates: "/srv/other" })")->Apply(observer_),
              StatusIs(absl::StatusCode::kInternal, Said()));
}

TEST_F(CommandTest, UnlessDecides) {
  bool done = false;
  node_.processes.On("is-done", [&](const sys::ProcessSpec&) {
    return sys::ProcessResult{.exit_code = done ? 0 : 1};
  });
  node_.processes.On("do-it", [&](const sys::ProcessSpec&) {
    done = true;
    return sys::ProcessResult{};
  });
  ExpectConverges(R"(command { argv: "do-it" unless: "is-done" })", {"command"});
  EXPECT_THAT(Make(R"(command { argv: "do-it" unless: "absent" })")->Check(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(CommandTest, ACommandThatOnlyReadsRunsInTheCheck) {
  node_.processes.On("probe", sys::ProcessResult{});
  const auto probe = Make(R"(command { argv: "probe" changes_nothing: true })");
  EXPECT_THAT(Fields(*probe), IsEmpty());
  EXPECT_THAT(node_.processes.commands(), ElementsAre("probe"));
  node_.processes.On("probe", FakeProcessRunner::Prints("socket missing\n", 1));
  EXPECT_THAT(probe->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(CommandTest, WhatACheckPrintedIsKept) {
  node_.processes.On("probe", FakeProcessRunner::Prints("4 GPUs\n"));
  const auto probe = Make(R"(command { argv: "probe" changes_nothing: true })");
  EXPECT_THAT(Fields(*probe), IsEmpty());
  EXPECT_EQ(dynamic_cast<const PrintingCheck&>(*probe).check_output(), "4 GPUs\n");
}

TEST_F(CommandTest, AHandlersCommandAlwaysRuns) {
  node_.processes.On("reconfigure", sys::ProcessResult{});
  const auto command = Make(R"(command { argv: "reconfigure" always: true })");
  EXPECT_TRUE(command->AlwaysChanges());
  ASSERT_OK(command->Apply(observer_));
  EXPECT_THAT(Fields(*command), ElementsAre("command"));
}

TEST_F(CommandTest, RetriesWithTheDelay) {
  int runs = 0;
  node_.processes.On("flaky", [&](const sys::ProcessSpec&) {
    return FakeProcessRunner::Prints("not yet\n", ++runs < 3 ? 1 : 0);
  });
  const std::string step =
      R"(command { argv: "flaky" always: true retries: 2 retry_delay { seconds: 30 } })";
  const absl::Time start = node_.clock.Now();
  ASSERT_OK(Make(step)->Apply(observer_));
  EXPECT_EQ(node_.clock.Now() - start, absl::Seconds(60));
  runs = -10;
  EXPECT_THAT(Make(step)->Apply(observer_), StatusIs(absl::StatusCode::kInternal, Said()));
}

TEST_F(CommandTest, PassesTheWholeSpecification) {
  node_.processes.On("x", sys::ProcessResult{});
  ASSERT_OK(Make(R"(command { argv: ["x", "a b"] always: true directory: "/srv"
                              environment { key: "K" value: "V" } timeout { seconds: 7 } })")
                ->Apply(observer_));
  const sys::ProcessSpec& spec = node_.processes.specs().back();
  EXPECT_THAT(spec.argv, ElementsAre("x", "a b"));
  EXPECT_EQ(spec.directory, "/srv");
  EXPECT_EQ(spec.environment.at("K"), "V");
  EXPECT_EQ(spec.timeout, absl::Seconds(7));
}

TEST_F(CommandTest, TheInputIsTheCommandsAlone) {
  int runs = 0;
  node_.processes.On("join", [&](const sys::ProcessSpec&) {
    return sys::ProcessResult{.exit_code = ++runs < 2 ? 1 : 0};
  });
  node_.processes.On("is-joined", sys::ProcessResult{.exit_code = 1});
  const auto command =
      Make(R"(command { argv: "join" unless: "is-joined" input: "pass\000word\n" retries: 1 })");
  EXPECT_THAT(Fields(*command), ElementsAre("command"));
  ASSERT_OK(command->Apply(observer_));
  ASSERT_THAT(node_.processes.commands(), ElementsAre("is-joined", "join", "join"));
  EXPECT_EQ(node_.processes.specs()[0].input, "");
  for (const size_t attempt : {1, 2})
    EXPECT_EQ(node_.processes.specs()[attempt].input, std::string("pass\0word\n", 10));
}

TEST_F(CommandTest, WhatACommandIsToldStandsInNoArgument) {
  sys::RealProcessRunner processes;
  std::string out;
  node_.processes.On("sh", [&](const sys::ProcessSpec& spec) {
    const sys::ProcessResult result = processes.Run(spec).value();
    out = result.out;
    return result;
  });
  // The program shows its own command line, which any user could read.
  ASSERT_OK(Make(R"(command { argv: ["sh", "-c", "read it; echo ${#it}; cat /proc/$$/cmdline"]
                              always: true input: "hush-hush\n" })")
                ->Apply(observer_));
  EXPECT_THAT(out, AllOf(HasSubstr("9\n"), HasSubstr("read it"), Not(HasSubstr("hush-hush"))));
}

// What a command makes is for everybody, as in an image.
TEST(AgentService, GivesProgramsTheUsualUmask) {
  const std::string unit =
      sys::RealFileSystem().Read("packaging/systemd/muster-agent.service").value();
  EXPECT_THAT(unit, HasSubstr("\nStateDirectoryMode=0700\n"));
  EXPECT_THAT(unit, Not(HasSubstr("\nUMask=")));
}

class CommandProgramTest : public CommandTest {
 protected:
  CommandProgramTest() { node_.files.AddFile("/proc/sys/kernel/random/boot_id", "boot1\n"); }

  // What the record of a running program says.
  std::optional<std::string> Running() {
    return node_.records.Get("step_program", "role/task").value();
  }
  // As the kernel shows a process that started at that tick.
  void AddProcess(int pid, int ticks) {
    node_.files.AddFile(
        absl::StrCat("/proc/", pid, "/stat"),
        absl::StrCat(pid, " (make) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 ", ticks, " 0"));
  }
};

TEST_F(CommandProgramTest, ARecordNamesTheProcessWhileItRuns) {
  AddProcess(4711, 99);
  node_.processes.On("make", [&](const sys::ProcessSpec& spec) {
    spec.on_started(4711);
    EXPECT_EQ(Running(), "4711 99 boot1");
    return sys::ProcessResult{};
  });
  ASSERT_OK(Make(R"(command { argv: ["make", "it"] always: true })")->Apply(observer_));
  EXPECT_EQ(Running(), std::nullopt);
}

TEST_F(CommandProgramTest, WhatAnEarlierLifeLeftEndsBeforeTheCommandRunsAgain) {
  // A group of its own, like all programs of Muster's.
  sys::RealProcessRunner real;
  int pid = 0;
  sys::ProcessResult earlier;
  absl::Notification has_started;
  std::thread earlier_life([&] {
    sys::ProcessSpec spec;
    spec.argv = {"sh", "-c", "sleep 100 & wait"};
    spec.on_started = [&](int started) {
      pid = started;
      has_started.Notify();
    };
    earlier = real.Run(spec).value();
    node_.files.Remove(absl::StrCat("/proc/", pid, "/stat"), false).IgnoreError();
  });
  has_started.WaitForNotification();
  AddProcess(pid, 99);
  ASSERT_OK(node_.records.Put("step_program", "role/task", absl::StrCat(pid, " 99 boot1")));
  bool has_ended = false;
  node_.processes.On("make", [&](const sys::ProcessSpec&) {
    has_ended = ::kill(pid, 0) != 0;
    return sys::ProcessResult{};
  });
  ASSERT_OK(Make(R"(command { argv: "make" always: true })")->Apply(observer_));
  earlier_life.join();
  EXPECT_EQ(earlier.signal, SIGKILL);
  EXPECT_TRUE(has_ended) << "two copies";
  EXPECT_EQ(Running(), std::nullopt);
}

TEST_F(CommandProgramTest, AProcessThatGotTheSameIdSinceIsLeftAlone) {
  AddProcess(::getpid(), 100);
  node_.processes.On("make", FakeProcessRunner::Prints(""));
  // Another process has the number since, the node has booted since, and the record is damaged.
  for (const char* rest : {" 99 boot1", " 100 boot0", ""}) {
    ASSERT_OK(node_.records.Put("step_program", "role/task", absl::StrCat(::getpid(), rest)));
    ASSERT_OK(Make(R"(command { argv: "make" always: true })")->Apply(observer_));
    EXPECT_EQ(Running(), std::nullopt);
  }
}

TEST_F(CommandProgramTest, ThereIsNoRecordInARootOrOfACommandThatOnlyReads) {
  AddProcess(4711, 99);
  node_.processes.On("make", [&](const sys::ProcessSpec& spec) {
    if (spec.on_started) spec.on_started(4711);
    EXPECT_EQ(Running(), std::nullopt);
    return sys::ProcessResult{};
  });
  EXPECT_THAT(Fields(*Make(R"(command { argv: "make" changes_nothing: true })")), IsEmpty());
  node_.context.is_running = false;
  ASSERT_OK(Make(R"(command { argv: "make" always: true })")->Apply(observer_));
  EXPECT_EQ(node_.processes.commands().size(), 2u);
}

}  // namespace
}  // namespace muster::agent
