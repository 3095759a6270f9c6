#include "cli/apply/update_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/proto_time.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

UpdateOptions ParseUpdate(std::vector<std::string> arguments) {
  CLI::App app("", "update");
  UpdateOptions options;
  AddUpdateOptions(app, options);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  app.parse(arguments);
  return options;
}

absl::StatusOr<v1::CreateRolloutRequest> Parsed(std::vector<std::string> arguments) {
  return RequestFor(ParseUpdate(std::move(arguments)));
}

TEST(UpdateOptions, WhatIsNotGivenIsLeftToTheController) {
  const UpdateOptions options = ParseUpdate({"playbooks/site.yaml"});
  EXPECT_EQ(options.run.playbook, "playbooks/site.yaml");
  EXPECT_FALSE(options.plan || options.yes || options.detach);
  const v1::CreateRolloutRequest request = RequestFor(options).value();
  EXPECT_EQ(request.ByteSizeLong(), 0u) << request.DebugString();
}

TEST(UpdateOptions, EachReachesTheRequest) {
  const v1::CreateRolloutRequest request = Parsed({"site.yaml",
                                                   "-l",
                                                   "c[001-008]",
                                                   "-t",
                                                   "nvidia,slurm",
                                                   "-e",
                                                   "n=3",
                                                   "-e",
                                                   "name=x",
                                                   "--suite=quick",
                                                   "--canary=0",
                                                   "--waves=1,5%,25%,100%",
                                                   "--login-and-storage",
                                                   "--max-unavailable=10%",
                                                   "--max-per-rack=1",
                                                   "--max-per-switch=2",
                                                   "--failure-budget=3",
                                                   "--on-failure=rollback",
                                                   "--soak=10m",
                                                   "--window",
                                                   "Sat,Sun 22:00-06:00",
                                                   "--window",
                                                   "Mon-Fri 18:00-07:00",
                                                   "--drain-timeout=2d",
                                                   "--on-timeout=skip"})
                                               .value();
  EXPECT_EQ(request.limit(), "c[001-008]");
  EXPECT_THAT(request.tags(), ElementsAre("nvidia", "slurm"));
  EXPECT_EQ(request.extra_vars().at("n"), "3");
  EXPECT_EQ(request.extra_vars().at("name"), "\"x\"");
  EXPECT_EQ(request.suite(), "quick");
  EXPECT_TRUE(request.has_canary());
  EXPECT_EQ(request.canary(), 0u);
  EXPECT_THAT(request.waves(), ElementsAre("1", "5%", "25%", "100%"));
  EXPECT_TRUE(request.login_and_storage());
  EXPECT_EQ(request.max_unavailable(), "10%");
  EXPECT_EQ(request.max_per_rack(), 1u);
  EXPECT_EQ(request.max_per_switch(), 2u);
  EXPECT_EQ(request.failure_budget(), 3u);
  EXPECT_EQ(request.on_failure(), v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  EXPECT_EQ(ToDuration(request.soak()), absl::Minutes(10));
  // The comma is a part of the window.
  EXPECT_THAT(request.windows(), ElementsAre("Sat,Sun 22:00-06:00", "Mon-Fri 18:00-07:00"));
  EXPECT_EQ(ToDuration(request.drain_timeout()), absl::Hours(48));
  EXPECT_EQ(request.on_timeout(), v1::DRAIN_TIMEOUT_ACTION_SKIP);
}

TEST(UpdateOptions, WhatFollowsALongDrainIsOneOfThreeWords) {
  const auto action = [](const char* word) {
    return Parsed({"s.yaml", "--drain-timeout", "4h", "--on-timeout", word}).value().on_timeout();
  };
  EXPECT_EQ(action("wait"), v1::DRAIN_TIMEOUT_ACTION_WAIT);
  EXPECT_EQ(action("skip"), v1::DRAIN_TIMEOUT_ACTION_SKIP);
  EXPECT_EQ(action("requeue"), v1::DRAIN_TIMEOUT_ACTION_REQUEUE);
  EXPECT_THROW(action("cancel"), CLI::ValidationError);
}

TEST(UpdateOptions, WhenNodesRebootIsOneOfThreeWords) {
  const auto mode = [](const char* word) {
    return Parsed({"s.yaml", "--reboot", word}).value().reboots();
  };
  EXPECT_EQ(mode("auto"), v1::REBOOT_MODE_AUTO);
  EXPECT_EQ(mode("always"), v1::REBOOT_MODE_ALWAYS);
  EXPECT_EQ(mode("never"), v1::REBOOT_MODE_NEVER);
  EXPECT_THROW(mode("later"), CLI::ValidationError);
}

TEST(UpdateOptions, ThePlaybookMayFollowOptionsWithSeveralValues) {
  const UpdateOptions options =
      ParseUpdate({"--waves", "1,50%", "--window", "22:00-06:00", "site.yaml"});
  EXPECT_EQ(options.run.playbook, "site.yaml");
  EXPECT_THAT(options.waves, ElementsAre("1", "50%"));
  EXPECT_THAT(options.windows, ElementsAre("22:00-06:00"));
}

TEST(UpdateOptions, ContradictionsAndUnknownWordsAreUsageErrors) {
  EXPECT_THROW(ParseUpdate({}), CLI::RequiredError);
  EXPECT_THROW(ParseUpdate({"s.yaml", "--plan", "--yes"}), CLI::ExcludesError);
  EXPECT_THROW(ParseUpdate({"s.yaml", "--plan", "--detach"}), CLI::ExcludesError);
  EXPECT_THROW(ParseUpdate({"s.yaml", "--on-timeout", "skip"}), CLI::RequiresError);
  EXPECT_THROW(ParseUpdate({"s.yaml", "--on-failure", "explode"}), CLI::ValidationError);
  EXPECT_THROW(ParseUpdate({"s.yaml", "--canary", "-1"}), CLI::ParseError);
  EXPECT_THROW(ParseUpdate({"s.yaml", "--max-per-rack", "many"}), CLI::ConversionError);
}

TEST(UpdateOptions, TimesThatAreNoneAreNamedWithTheirOption) {
  EXPECT_THAT(Parsed({"s.yaml", "--soak", "ten"}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Parsed({"s.yaml", "--soak", "-5m"}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Parsed({"s.yaml", "--drain-timeout", "inf"}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Parsed({"s.yaml", "--drain-timeout", "0"}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Parsed({"s.yaml", "-e", "n"}), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::cli
