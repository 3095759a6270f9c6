#include "cli/bootstrap/bootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RecordingObserver final : public BootstrapObserver {
 public:
  void OnStep(const std::string& node, const std::string& step) override {
    steps.push_back(node + ": " + step);
  }
  void OnDone(const std::string& node, const absl::Status&) override { done.push_back(node); }
  std::vector<std::string> steps, done;
};

TEST(Bootstrap, ANodeThatFailsIsNamedWithItsReasonAndHoldsUpNobody) {
  FakeProcessRunner processes;
  processes.On("ssh", [](const sys::ProcessSpec& spec) -> sys::ProcessResult {
    if (spec.argv[spec.argv.size() - 3] == "root@10.0.0.2")
      return FakeProcessRunner::Prints("ssh: connect to host 10.0.0.2 port 22: No route to host\n",
                                       255);
    return FakeProcessRunner::Prints("step: installing the agent\nstep: joining\n");
  });
  RecordingObserver observer;
  BootstrapOptions options;
  options.parallel = 1;
  const auto results = BootstrapAll({{"c001", "10.0.0.1", "script one"},
                                     {"c002", "10.0.0.2", "script two"},
                                     {"c003", "10.0.0.3", "script three"}},
                                    options, processes, observer);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_OK(results.at("c001"));
  EXPECT_THAT(results.at("c002"), StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_OK(results.at("c003"));
  EXPECT_THAT(observer.done, ElementsAre("c001", "c002", "c003"));
  EXPECT_THAT(observer.steps, ElementsAre("c001: installing the agent", "c001: joining",
                                          "c003: installing the agent", "c003: joining"));
  // The script, which contains the token, is passed by standard input.
  EXPECT_EQ(processes.specs()[0].input, "script one");
  for (const std::string& command : processes.commands())
    EXPECT_FALSE(absl::StrContains(command, "script")) << command;
}

TEST(Bootstrap, ARefusalOfSshComesWithItsRemedy) {
  const struct {
    const char *says, *remedy;
  } kCases[] = {
      {"Host key verification failed.\n", "ssh deploy@10.0.0.1"},
      {"deploy@10.0.0.1: Permission denied (publickey,password).\n", "ssh-copy-id deploy@10.0.0.1"},
      {"root@10.0.0.1: Permission denied (publickey,password).\n", "`su -c`"},
      {"sudo: a password is required\n", "sudo without a password"},
  };
  for (const auto& each : kCases) {
    FakeProcessRunner processes;
    processes.On("ssh", FakeProcessRunner::Prints(each.says, 255));
    RecordingObserver observer;
    BootstrapOptions options;
    options.user = "deploy";
    const auto results = BootstrapAll({{"c001", "10.0.0.1", ""}}, options, processes, observer);
    EXPECT_THAT(results.at("c001"),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr(each.remedy)));
  }
}

TEST(Bootstrap, AnotherAccountUsesSudo) {
  FakeProcessRunner processes;
  processes.On("ssh", FakeProcessRunner::Prints(""));
  RecordingObserver observer;
  BootstrapOptions options;
  options.user = "deploy";
  options.ssh_config = "/tmp/config";
  BootstrapAll({{"c001", "10.0.0.1", ""}}, options, processes, observer);
  EXPECT_THAT(processes.commands(),
              ElementsAre(::testing::AllOf(HasSubstr("ssh -F /tmp/config "),
                                           HasSubstr("deploy@10.0.0.1 sudo -n sh -s"))));
}

TEST(Bootstrap, SshFindsAConfigurationInTheFolderOfWhoCallsAndEndsWithTheCommand) {
  FakeProcessRunner processes;
  processes.On("ssh", FakeProcessRunner::Prints(""));
  RecordingObserver observer;
  BootstrapOptions options;
  options.ssh_config = "./config";
  BootstrapAll({{"c001", "10.0.0.1", ""}}, options, processes, observer);
  ASSERT_EQ(processes.specs().size(), 1u);
  EXPECT_EQ(processes.specs()[0].argv[2], std::filesystem::current_path() / "config");
  EXPECT_TRUE(processes.specs()[0].die_with_parent);
}

}  // namespace
}  // namespace muster::cli
