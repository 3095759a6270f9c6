#include "controller/inventory/health_policy.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "controller/inventory/inventory.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kNodes[] =
    "cluster: x\nnodes: {\"c[1-4]\": {role: compute}, login1: {role: login}}\n"
    "groups: {gpu: {nodes: \"c[1-3]\"}}\n";

absl::StatusOr<Inventory> ParseHealth(const std::string& text) {
  return ParseInventory({{"f", absl::StrCat(kNodes, text)}});
}

TEST(HealthPolicy, WithoutASectionTheCatalogueDecides) {
  const auto inventory = ParseHealth("");
  ASSERT_OK(inventory);
  const HealthRules* rules = inventory->health().RulesOf("c1");
  ASSERT_NE(rules, nullptr);
  EXPECT_EQ(rules->ActionOf("gpu_lost"), v1::HEALTH_ACTION_DRAIN);
  EXPECT_EQ(rules->ActionOf("disk_full"), v1::HEALTH_ACTION_NOTIFY);
  EXPECT_EQ(rules->ActionOf("oom_kill"), v1::HEALTH_ACTION_OBSERVE);
  EXPECT_EQ(rules->ActionOf("node_lost"), v1::HEALTH_ACTION_NOTIFY);
  EXPECT_EQ(rules->ActionOf("of_a_hostile_node"), v1::HEALTH_ACTION_OBSERVE);
  EXPECT_FALSE(rules->observe_only);
  EXPECT_EQ(rules->retest, "");
  ASSERT_THAT(inventory->health().breakers(), SizeIs(1));
  EXPECT_EQ(inventory->health().breakers()[0].max_drained, 2u);
  EXPECT_EQ(inventory->health().breakers()[0].window, absl::Minutes(10));
  EXPECT_EQ(inventory->health().RulesOf("c9"), nullptr);
}

TEST(HealthPolicy, TheDefaultBreakerFitsSmallClustersAndLargeOnes) {
  EXPECT_EQ(DefaultMaxDrained(0), 1u);
  EXPECT_EQ(DefaultMaxDrained(1), 1u);
  EXPECT_EQ(DefaultMaxDrained(2), 1u);
  EXPECT_EQ(DefaultMaxDrained(6), 2u);
  EXPECT_EQ(DefaultMaxDrained(100), 2u);
  EXPECT_EQ(DefaultMaxDrained(6000), 120u);
}

TEST(HealthPolicy, ASpecialGroupSaysMoreThanAGeneralOne) {
  const auto inventory = ParseHealth(R"(
health:
  gpu:
    conditions: {gpu_temperature: drain, disk_full: observe, gpu_lost: quarantine,
                 gpu_xid: reboot_once_then_drain}
    reboot_interval: 12h
    breaker: {max_drained: 50%, window: 1h}
    observe_only: false
    limits: {disk_full.percent: 80}
  all:
    conditions: {disk_full: notify, node_lost: drain, scratch_quota: drain}
    breaker: {max_drained: 3}
    observe_only: true
    retest: acceptance
    good_time: 10m
    cool_down: 1h
    disabled: [nic_errors]
    limits: {disk_full.percent: 90}
    xid_actions: {43: ignore}
    site_conditions:
      scratch_quota:
        argv: [/usr/local/bin/check_quota, /scratch]
        interval: 5m
        time_limit: 30s
        severity: fatal
)");
  ASSERT_OK(inventory);
  const HealthPolicy& health = inventory->health();
  const HealthRules& gpu = *health.RulesOf("c1");
  const HealthRules& other = *health.RulesOf("c4");
  EXPECT_EQ(&gpu, health.RulesOf("c2")) << "equal nodes share their rules";
  EXPECT_EQ(gpu.ActionOf("gpu_temperature"), v1::HEALTH_ACTION_DRAIN);
  EXPECT_EQ(other.ActionOf("gpu_temperature"), v1::HEALTH_ACTION_NOTIFY);
  EXPECT_EQ(gpu.ActionOf("disk_full"), v1::HEALTH_ACTION_OBSERVE);
  EXPECT_EQ(gpu.ActionOf("node_lost"), v1::HEALTH_ACTION_DRAIN);
  EXPECT_EQ(gpu.ActionOf("gpu_lost"), v1::HEALTH_ACTION_QUARANTINE);
  EXPECT_EQ(gpu.ActionOf("gpu_xid"), v1::HEALTH_ACTION_REBOOT_ONCE_THEN_DRAIN);
  EXPECT_EQ(other.ActionOf("gpu_xid"), v1::HEALTH_ACTION_DRAIN);
  EXPECT_EQ(gpu.reboot_interval, absl::Hours(12));
  EXPECT_EQ(other.reboot_interval, absl::Hours(24));
  EXPECT_FALSE(gpu.observe_only);
  EXPECT_TRUE(other.observe_only);
  EXPECT_EQ(gpu.retest, "acceptance");
  EXPECT_EQ(gpu.good_time, absl::Minutes(10));
  EXPECT_EQ(gpu.cool_down, absl::Hours(1));
  EXPECT_THAT(gpu.breakers, ElementsAre(0, 1));
  EXPECT_THAT(other.breakers, ElementsAre(0));
  ASSERT_THAT(health.breakers(), SizeIs(2));
  EXPECT_EQ(health.breakers()[0].max_drained, 3u);
  EXPECT_EQ(health.breakers()[1].max_drained, 1u) << "half of three, rounded down";
  EXPECT_EQ(health.breakers()[1].window, absl::Hours(1));
  EXPECT_EQ(gpu.settings.limits().at("disk_full.percent"), "80");
  EXPECT_EQ(other.settings.limits().at("disk_full.percent"), "90");
  EXPECT_THAT(gpu.settings.disabled(), ElementsAre("nic_errors"));
  EXPECT_EQ(gpu.settings.xid_actions().at(43), "ignore");
  ASSERT_THAT(gpu.settings.conditions(), SizeIs(1));
  const v1::SiteCondition& own = gpu.settings.conditions(0);
  EXPECT_THAT(own.argv(), ElementsAre("/usr/local/bin/check_quota", "/scratch"));
  EXPECT_EQ(ToDuration(own.interval()), absl::Minutes(5));
  EXPECT_EQ(ToDuration(own.time_limit()), absl::Seconds(30));
  EXPECT_EQ(own.severity(), v1::CONDITION_SEVERITY_FATAL);
  EXPECT_TRUE(health.Knows("scratch_quota"));
  EXPECT_FALSE(health.Knows("scratch_quotas"));
}

TEST(HealthPolicy, ErrorsNamePlaceAndRemedy) {
  struct Case {
    const char* text;
    const char* place;
  };
  const Case cases[] = {
      {"health: [all]", "f:4:9"},
      {"health: {al: {}}", "f:4:10"},
      {"health: {all: later}", "f:4:15"},
      {"health: {all: {observe: true}}", "f:4:16"},
      {"health: {all: {observe_only: maybe}}", "f:4:30"},
      {"health: {all: {conditions: [gpu_lost]}}", "f:4:28"},
      {"health: {all: {conditions: {gpu_lots: drain}}}", "f:4:29"},
      {"health: {all: {conditions: {gpu_lost: drian}}}", "f:4:39"},
      {"health: {all: {conditions: {node_lost: reboot_once_then_drain}}}", "f:4:40"},
      {"health: {all: {reboot_interval: 1s}}", "f:4:33"},
      {"health: {all: {disabled: [gpu_lots]}}", "f:4:27"},
      {"health: {all: {breaker: {window: 10m}}}", "f:4:25"},
      {"health: {all: {breaker: {max_drained: none}}}", "f:4:39"},
      {"health: {all: {breaker: {max_drained: 0}}}", "f:4:39"},
      {"health: {all: {breaker: {max_drained: 120%}}}", "f:4:39"},
      {"health: {all: {breaker: {max_drained: 2, window: 1s}}}", "f:4:50"},
      {"health: {all: {cool_down: 5}}", "f:4:27"},
      {"health: {all: {good_time: 1s}}", "f:4:27"},
      {"health: {all: {limits: {disk_fulls.percent: 3}}}", "f:4:25"},
      {"health: {all: {limits: {disk_full.percent: 300}}}", "f:4:44"},
      {"health: {all: {xid_actions: {many: ignore}}}", "f:4:30"},
      {"health: {all: {xid_actions: {43: ignored}}}", "f:4:34"},
      {"health: {all: {site_conditions: {gpu_lost: {argv: [/bin/true]}}}}", "f:4:34"},
      {"health: {all: {site_conditions: {A-b: {argv: [/bin/true]}}}}", "f:4:34"},
      {"health: {all: {site_conditions: {a: {argv: []}}}}", "f:4:44"},
      {"health: {all: {site_conditions: {a: {argv: [true]}}}}", "f:4:44"},
      {"health: {all: {site_conditions: {a: {}}}}", "f:4:37"},
      {"health: {all: {site_conditions: {a: {argv: [/a], time_limit: 2m}}}}", "f:4:62"},
      {"health: {all: {site_conditions: {a: {argv: [/a], severity: bad}}}}", "f:4:60"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_THAT(ParseHealth(c.text),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(c.place))));
  }
  EXPECT_THAT(ParseInventory({{"a.yaml", absl::StrCat(kNodes, "health: {all: {}}")},
                              {"b.yaml", "health: {all: {}}"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(HealthPolicy, IsADifferenceButNotToPlaybooks) {
  const auto before = ParseHealth("");
  const auto now = ParseHealth("health: {all: {observe_only: true}}");
  ASSERT_OK(before);
  ASSERT_OK(now);
  EXPECT_THAT(DiffInventory(*before, *now), ElementsAre(Said()));
  EXPECT_THAT(DiffInventory(*now, *now), IsEmpty());
  EXPECT_EQ(ContentDigest(*before), ContentDigest(*now));
}

}  // namespace
}  // namespace muster::controller
