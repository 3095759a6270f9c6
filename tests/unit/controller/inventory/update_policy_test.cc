#include "controller/inventory/update_policy.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/proto_time.h"
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

constexpr char kFourWorkers[] =
    "cluster: x\nnodes: {\"c[1-4]\": {role: compute}, login1: {role: login}}\n"
    "groups: {gpu: {nodes: \"c[1-3]\"}}\n";

absl::StatusOr<Inventory> ParseUpdates(const std::string& text) {
  return ParseInventory({{"f", absl::StrCat(kFourWorkers, text)}});
}

TEST(UpdatePolicy, HasTheOptionsOfAnUpdate) {
  const auto inventory = ParseUpdates(R"(
updates:
  nightly:
    playbook: playbooks/site.yaml
    nodes: ["gpu,!c2", c4]
    window: ["22:00-06:00", Sat 00:00-24:00]
    canary: 0
    waves: [2, 100%]
    max_unavailable: 50%
    max_per_rack: 1
    max_per_switch: 2
    failure_budget: 3
    soak: 1h
    drain_timeout: 12h
    on_timeout: skip
    on_failure: rollback
    reboot: never
    suite: quick
  rest: {playbook: playbooks/rest.yml}
)");
  ASSERT_OK(inventory);
  ASSERT_EQ(inventory->updates().size(), 2u);
  const UpdatePolicy& policy = *inventory->updates()[0];
  const v1::CreateRolloutRequest& request = policy.request;
  EXPECT_EQ(policy.name, "nightly");
  EXPECT_THAT(policy.nodes, ElementsAre("c1", "c3", "c4"));
  EXPECT_EQ(request.playbook(), "playbooks/site.yaml");
  EXPECT_THAT(request.windows(), ElementsAre("22:00-06:00", "Sat 00:00-24:00"));
  EXPECT_TRUE(request.has_canary());
  EXPECT_EQ(request.canary(), 0u);
  EXPECT_THAT(request.waves(), ElementsAre("2", "100%"));
  EXPECT_EQ(request.max_unavailable(), "50%");
  EXPECT_EQ(request.max_per_rack(), 1u);
  EXPECT_EQ(request.max_per_switch(), 2u);
  EXPECT_EQ(request.failure_budget(), 3u);
  EXPECT_EQ(ToDuration(request.soak()), absl::Hours(1));
  EXPECT_EQ(ToDuration(request.drain_timeout()), absl::Hours(12));
  EXPECT_EQ(request.on_timeout(), v1::DRAIN_TIMEOUT_ACTION_SKIP);
  EXPECT_EQ(request.on_failure(), v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  EXPECT_EQ(request.reboots(), v1::REBOOT_MODE_NEVER);
  EXPECT_EQ(request.suite(), "quick");
  EXPECT_EQ(inventory->FindUpdate("nightly"), &policy);
  EXPECT_EQ(inventory->FindUpdate("never"), nullptr);
}

// What is not written is as `muster update` has it: the request leaves it out.
TEST(UpdatePolicy, IsAboutAllWorkersByDefault) {
  const auto inventory = ParseUpdates("updates: {all: {playbook: site.yaml}}\n");
  ASSERT_OK(inventory);
  const UpdatePolicy& policy = *inventory->updates()[0];
  EXPECT_THAT(policy.nodes, ElementsAre("c1", "c2", "c3", "c4"));
  v1::CreateRolloutRequest bare;
  bare.set_playbook("site.yaml");
  EXPECT_EQ(policy.request.SerializeAsString(), bare.SerializeAsString());
}

TEST(UpdatePolicy, NamesItsNodes) {
  const auto inventory = ParseUpdates("updates: {some: {playbook: site.yaml, nodes: gpu}}\n");
  ASSERT_OK(inventory);
  EXPECT_THAT(inventory->updates()[0]->nodes, ElementsAre("c1", "c2", "c3"));
  EXPECT_EQ(inventory->updates()[0]->request.limit(), "c[1-3]");
}

TEST(UpdatePolicy, LoginAndStorageNodesFollowWhereAsked) {
  const auto inventory = ParseUpdates(R"(updates:
  some: {playbook: site.yaml, nodes: gpu, login_and_storage: true}
  all: {playbook: site.yaml, login_and_storage: true}
)");
  ASSERT_OK(inventory);
  const auto& some = *inventory->updates()[0];
  EXPECT_TRUE(some.request.login_and_storage());
  EXPECT_THAT(some.nodes, ElementsAre("c1", "c2", "c3")) << "the policy is about workers";
  EXPECT_EQ(some.request.limit(), "c[1-3],login,storage");
  EXPECT_EQ(inventory->updates()[1]->request.limit(), "");
}

TEST(UpdatePolicy, SpreadsOverFiles) {
  const auto inventory =
      ParseInventory({{"a.yaml", absl::StrCat(kFourWorkers, "updates: {a: {playbook: a.yaml}}")},
                      {"b.yaml", "updates: {b: {playbook: b.yaml}}"}});
  ASSERT_OK(inventory);
  EXPECT_EQ(inventory->updates().size(), 2u);
}

TEST(UpdatePolicy, ErrorsNamePlaceAndRemedy) {
  struct Case {
    const char* text;
    const char* place;
  };
  const Case cases[] = {
      {"updates: {a: {playbook: site.yaml, canarie: 1}}", "f:4:36"},
      {"updates: {a: {}}", "f:4:14"},
      {"updates: {a: later}", "f:4:14"},
      {"updates: [a]", "f:4:10"},
      {"updates: {a: {playbook: /etc/site.yaml}}", "f:4:25"},
      {"updates: {a: {playbook: site}}", "f:4:25"},
      {"updates: {\"a b\": {playbook: site.yaml}}", "f:4:11"},
      {"updates: {a: {playbook: site.yaml}}\n---\n", "f:5:1"},
      {"updates: {a: {playbook: site.yaml, nodes: c9}}", "f:4:43"},
      {"updates: {a: {playbook: site.yaml, nodes: all}}", "f:4:43"},
      {"updates: {a: {playbook: site.yaml, window: 22-06}}", "f:4:44"},
      {"updates: {a: {playbook: site.yaml, window: [\"22:00-06:00\", Someday]}}", "f:4:60"},
      {"updates: {a: {playbook: site.yaml, canary: -1}}", "f:4:44"},
      {"updates: {a: {playbook: site.yaml, canary: one}}", "f:4:44"},
      {"updates: {a: {playbook: site.yaml, waves: [3, 2]}}", "f:4:44"},
      {"updates: {a: {playbook: site.yaml, canary: 3, waves: [2]}}", "f:4:55"},
      {"updates: {a: {playbook: site.yaml, max_unavailable: 0}}", "f:4:53"},
      {"updates: {a: {playbook: site.yaml, max_unavailable: 120%}}", "f:4:53"},
      {"updates: {a: {playbook: site.yaml, soak: 5}}", "f:4:42"},
      {"updates: {a: {playbook: site.yaml, on_timeout: skip}}", "f:4:48"},
      {"updates: {a: {playbook: site.yaml, drain_timeout: 1h, on_timeout: skp}}", "f:4:67"},
      {"updates: {a: {playbook: site.yaml, on_failure: stop}}", "f:4:48"},
      {"updates: {a: {playbook: site.yaml, reboot: later}}", "f:4:44"},
      {"updates: {a: {playbook: site.yaml, login_and_storage: true, reboot: always}}", "f:4:69"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_THAT(ParseUpdates(c.text),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(c.place))));
  }
  EXPECT_THAT(
      ParseInventory({{"a.yaml", absl::StrCat(kFourWorkers, "updates: {a: {playbook: a.yaml}}")},
                      {"b.yaml", "updates: {a: {playbook: b.yaml}}"}}),
      StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseInventory({{"f",
                               "cluster: x\nnodes: {login1: {role: login}}\n"
                               "updates: {a: {playbook: site.yaml}}"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

// Without these keys a policy is about all workers, at all times: a list whose last element was
// removed must not become that.
TEST(UpdatePolicy, AnEmptyListIsAnErrorAndNotEverything) {
  for (const char* key : {"nodes", "window", "waves"}) {
    for (const char* value : {"", " []", " null"}) {
      const std::string text =
          absl::StrCat("updates:\n  a:\n    playbook: site.yaml\n    ", key, ":", value, "\n");
      SCOPED_TRACE(text);
      const auto given = ParseInventory({{"f", absl::StrCat(kFourWorkers, text)}},
                                        [](absl::string_view) { return std::string(); });
      EXPECT_THAT(given,
                  StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr("f:7:"))));
      // A stored one is of a version that took it.
      EXPECT_OK(ParseUpdates(text));
    }
  }
}

// An applied inventory without a difference is not stored: every key of a policy has to be one.
TEST(UpdatePolicy, EveryKeyIsADifference) {
  const auto before = ParseUpdates("updates: {a: {playbook: site.yaml, drain_timeout: 1h}}");
  ASSERT_OK(before);
  for (const char* more :
       {"nodes: gpu", "window: 22:00-06:00", "canary: 0", "waves: [2]", "max_unavailable: 2",
        "max_per_rack: 1", "max_per_switch: 1", "failure_budget: 1", "soak: 1h", "on_timeout: skip",
        "on_failure: rollback", "suite: quick", "login_and_storage: true", "reboot: never"}) {
    SCOPED_TRACE(more);
    const auto now = ParseUpdates(
        absl::StrCat("updates: {a: {playbook: site.yaml, drain_timeout: 1h, ", more, "}}"));
    ASSERT_OK(now);
    EXPECT_THAT(DiffInventory(*before, *now), ::testing::SizeIs(1));
    EXPECT_EQ(ContentDigest(*before), ContentDigest(*now)) << "no playbook can see it";
  }
  const auto none = ParseUpdates("");
  ASSERT_OK(none);
  EXPECT_THAT(DiffInventory(*before, *before), IsEmpty());
  EXPECT_THAT(absl::StrJoin(DiffInventory(*none, *before), "\n"), Said());
  EXPECT_THAT(absl::StrJoin(DiffInventory(*before, *none), "\n"), Said());
}

TEST(UpdatePolicy, WhatPlaybooksSeeChangesTheDigest) {
  const auto before = ParseUpdates("");
  const auto now = ParseUpdates("vars: {stack: debian13}");
  ASSERT_OK(before);
  ASSERT_OK(now);
  EXPECT_NE(ContentDigest(*before), ContentDigest(*now));
}

}  // namespace
}  // namespace muster::controller
