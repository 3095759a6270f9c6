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

}  // namespace
}  // namespace muster::agent
