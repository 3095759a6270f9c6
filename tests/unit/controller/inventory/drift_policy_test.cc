#include "controller/inventory/drift_policy.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/inventory/inventory.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

absl::StatusOr<Inventory> ParseDrift(const std::string& drift, VariableCheck check = nullptr) {
  return ParseInventory(
      {{"f", absl::StrCat("cluster: hpc1\nnodes: {login1: {role: login}, \"c[1-2]\": {role: "
                          "compute}}\n",
                          drift)}},
      check);
}

TEST(DriftPolicy, WithoutMoreItIsAboutAllNodesOnceADay) {
  const auto inventory = ParseDrift("drift: {site: {playbook: playbooks/site.yaml}}\n");
  ASSERT_OK(inventory.status());
  ASSERT_THAT(inventory->drift(), SizeIs(1));
  const DriftPolicy& policy = *inventory->drift()[0];
  EXPECT_EQ(policy.name, "site");
  EXPECT_EQ(policy.playbook, "playbooks/site.yaml");
  EXPECT_THAT(policy.nodes, ElementsAre("login1", "c1", "c2"));
  EXPECT_EQ(policy.every, absl::Hours(24));
  EXPECT_FALSE(policy.repairs);
}

TEST(DriftPolicy, HasNodesAnIntervalAndRepair) {
  const auto written =
      ParseDrift("drift: {a: {playbook: a.yml, nodes: \"compute,!c1\", every: 90m, repair: true}}");
  ASSERT_OK(written.status());
  const DriftPolicy& policy = *written->drift()[0];
  EXPECT_THAT(policy.nodes, ElementsAre("c2"));
  EXPECT_EQ(policy.every, absl::Minutes(90));
  EXPECT_TRUE(policy.repairs);
  EXPECT_EQ(ToValue(policy).dump(),
            R"({"playbook":"a.yml","nodes":"c2","every":"1h30m","repair":true})");
}

TEST(DriftPolicy, IsNothingThatAPlaybookCanSee) {
  const auto with = ParseDrift("drift: {a: {playbook: a.yml}}");
  const auto without = ParseDrift("");
  ASSERT_OK(with.status());
  ASSERT_OK(without.status());
  EXPECT_EQ(ContentDigest(*with), ContentDigest(*without));
  EXPECT_THAT(DiffInventory(*without, *with), SizeIs(1));
}

TEST(DriftPolicy, FaultsHaveTheirPlace) {
  struct {
    const char* drift;
    const char* place;
  } const cases[] = {
      {"drift: {a: {}}", "f:3:12"},
      {"drift: {a: later}", "f:3:12"},
      {"drift: [a]", "f:3:8"},
      {"drift: {a: {playbook: /etc/site.yaml}}", "f:3:23"},
      {"drift: {a: {playbook: site.yaml, evry: 1h}}", "f:3:34"},
      {"drift: {a: {playbook: site.yaml, every: 1h, every: 2h}}", "f:3:45"},
      {"drift: {a: {playbook: site.yaml, every: 9s}}", "f:3:41"},
      {"drift: {a: {playbook: site.yaml, every: often}}", "f:3:41"},
      {"drift: {a: {playbook: site.yaml, repair: maybe}}", "f:3:42"},
      {"drift: {a: {playbook: site.yaml, nodes: c9}}", "f:3:41"},
      {"drift: {a: {playbook: site.yaml, nodes: storage}}", "f:3:9"},
      {"drift: {\"a b\": {playbook: site.yaml}}", "f:3:9"},
  };
  for (const auto& each : cases) {
    const absl::Status status = ParseDrift(each.drift).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << each.drift;
    EXPECT_TRUE(absl::StartsWith(status.message(), absl::StrCat(each.place, ":")))
        << each.drift << ": " << status.message();
  }
  const absl::Status twice = ParseInventory({{"a.yaml",
                                              "cluster: hpc1\nnodes: {c1: {role: compute}}\n"
                                              "drift: {a: {playbook: a.yaml}}"},
                                             {"b.yaml", "drift: {a: {playbook: b.yaml}}"}})
                                 .status();
  EXPECT_TRUE(absl::StartsWith(twice.message(), "b.yaml:1:9:")) << twice.message();
}

TEST(DriftPolicy, AnEmptyListOfNodesIsNotAllNodes) {
  const std::pair<const char*, const char*> cases[] = {
      {"drift: {a: {playbook: site.yaml, nodes: []}}", "f:3:41:"},
      {"drift: {a: {playbook: site.yaml, nodes: }}", "f:3:34:"}};
  for (const auto& [drift, place] : cases) {
    const auto given = ParseDrift(drift, [](absl::string_view) { return std::string(); });
    EXPECT_TRUE(absl::IsInvalidArgument(given.status())) << drift;
    EXPECT_TRUE(absl::StartsWith(given.status().message(), place)) << given.status();
    // A stored one is of a version that took it.
    EXPECT_OK(ParseDrift(drift).status());
  }
}

}  // namespace
}  // namespace muster::controller
