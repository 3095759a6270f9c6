#include "agent/health/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/command/command_run.h"
#include "agent/health/probes/site_probe.h"
#include "common/base/proto_time.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/health.pb.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/agent/health/health_tree.h"

namespace muster::agent::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::SiteCondition Site(const std::string& name) {
  v1::SiteCondition site;
  site.set_name(name);
  site.add_argv("/usr/local/bin/check-" + name);
  *site.mutable_interval() = ToProtoDuration(absl::Minutes(2));
  *site.mutable_time_limit() = ToProtoDuration(absl::Seconds(5));
  site.set_severity(v1::CONDITION_SEVERITY_FATAL);
  return site;
}

TEST(HealthSettings, AreTakenWhereTheyAreValid) {
  v1::HealthSettings message;
  *message.add_conditions() = Site("licence_server");
  message.add_disabled("oom_kill");
  (*message.mutable_limits())["disk_full.percent"] = "80";
  (*message.mutable_xid_actions())[43] = "reset_gpu";
  std::vector<std::string> refused;
  const Settings settings = ReadSettings(message, refused);
  EXPECT_THAT(refused, IsEmpty());
  ASSERT_THAT(settings.sites, SizeIs(1));
  EXPECT_EQ(settings.sites[0].interval, absl::Minutes(2));
  EXPECT_EQ(settings.sites[0].severity, muster::health::Severity::kFatal);
  EXPECT_EQ(settings.limits.Of("disk_full.percent"), 80);
  EXPECT_EQ(settings.disabled.count("oom_kill"), 1u);
  EXPECT_EQ(settings.xid_actions.at(43), muster::health::XidAction::kResetGpu);
  EXPECT_OK(CheckCommand(SiteCommand(settings.sites[0])));
}

TEST(HealthSettings, RefuseTheRestOneByOne) {
  v1::HealthSettings message;
  *message.add_conditions() = Site("disk_full");  // of the catalogue
  *message.add_conditions() = Site("Bad Name");
  *message.add_conditions() = Site("twice");
  *message.add_conditions() = Site("twice");
  message.add_conditions()->set_name("without_program");
  for (int i = 0; i < 100; ++i) *message.add_conditions() = Site("many_" + std::to_string(i));
  message.add_disabled("no_such");
  (*message.mutable_limits())["disk_full.percent"] = "-1";
  (*message.mutable_xid_actions())[43] = "explode";
  (*message.mutable_xid_actions())[4000000000u] = "ignore";
  std::vector<std::string> refused;
  const Settings settings = ReadSettings(message, refused);
  EXPECT_THAT(settings.sites, SizeIs(kMaxSiteConditions));
  EXPECT_THAT(settings.disabled, IsEmpty());
  EXPECT_THAT(settings.xid_actions, IsEmpty());
  EXPECT_EQ(settings.limits.Of("disk_full.percent"), 95);
  EXPECT_THAT(refused, SizeIs(4 + 100 - (kMaxSiteConditions - 1) + 4));
}

TEST(HealthSettings, HurryIsBounded) {
  v1::HealthSettings message;
  v1::SiteCondition& site = *message.add_conditions() = Site("hasty");
  *site.mutable_interval() = ToProtoDuration(absl::Milliseconds(1));
  *site.mutable_time_limit() = ToProtoDuration(absl::Hours(100));
  std::vector<std::string> refused;
  const Settings settings = ReadSettings(message, refused);
  ASSERT_THAT(settings.sites, SizeIs(1));
  EXPECT_EQ(settings.sites[0].interval, absl::Seconds(10));
  EXPECT_EQ(settings.sites[0].time_limit, absl::Minutes(10));
}

TEST(SiteProbes, TheExitStatusIsTheAnswer) {
  v1::CommandEnd end;
  end.set_outcome(v1::COMMAND_OUTCOME_EXITED);
  const SiteCondition site = {.name = "own",
                              .argv = {"/bin/check"},
                              .interval = absl::Minutes(1),
                              .time_limit = absl::Seconds(5)};
  std::vector<std::string> ran;
  const std::vector<ProbeSpec> probes =
      MakeSiteProbes({site}, [&](const v1::StartCommand& command) {
        ran.push_back(command.argv(0));
        return end;
      });
  ASSERT_THAT(probes, SizeIs(1));
  const auto look = [&probes] { return probes[0].probe->Look({}); };
  EXPECT_THAT(HealthTree::Names(look()), IsEmpty());
  end.set_exit_status(1);
  end.set_output("\nthe licence server is away\nsecond line\n");
  const auto findings = look();
  EXPECT_THAT(HealthTree::Names(findings), ElementsAre("own"));
  EXPECT_EQ(findings->troubles[0].evidence, "the licence server is away");
  end.set_exit_status(127);
  EXPECT_THAT(HealthTree::Names(look()), ElementsAre("unknown own"));
  end.set_outcome(v1::COMMAND_OUTCOME_TIMED_OUT);
  EXPECT_THAT(HealthTree::Names(look()), ElementsAre("unknown own"));
  end.set_outcome(v1::COMMAND_OUTCOME_NOT_RUN);
  EXPECT_THAT(HealthTree::Names(look()), ElementsAre("unknown own"));
  EXPECT_THAT(ran, SizeIs(5));
}

}  // namespace
}  // namespace muster::agent::health
