#include "cli/inventory_edit/remove_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "cli/inventory_edit/add_nodes.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/cli/inventory_edit/ok_matcher.h"

namespace muster::cli {
namespace {

using ::muster::testing::IsOkAndHolds;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kNarrowed[] = "inventory/cluster.yaml";

absl::StatusOr<std::string> Without(const std::string& text,
                                    const std::vector<std::string>& names) {
  const auto removal = RemoveNodes({{kNarrowed, text}}, names);
  if (!removal.ok()) return removal.status();
  return removal->texts.empty() ? text : removal->texts.at(kNarrowed);
}

TEST(RemoveNodes, NarrowsEveryListThatNamesTheNode) {
  EXPECT_THAT(Without(R"(# The cluster.
nodes:
  login1: {role: login, address: 10.0.0.1}   # the door
  "c[001-016]":   # bought in 2024
    role: compute
    address: "10.0.0.[11-26]"  # by row
    bmc_address: '10.1.0.[26,11-25]'
racks:
  r1: {switch: sw1, nodes: "c[001-016]"}  # by the window
groups:
  fast:
    nodes:
      - login1
      # those with NVMe
      - c[014-015]
      - c016  # and this one
  some: {nodes: [login1, c016, x1]}
  last: {nodes: ["x1", "c016"]}
  alone: {nodes: c016}
  listed: {nodes: [c016]}
partitions:
  gpu: {nodes: gpu, default: true}
  long: {nodes: 'login*, c[010-016],!c014'}
  test: {nodes: "x1,c016"}
  none: {nodes: "gpu,!c016"}
vars: {x: "c[001-016]"}
)",
                      {"c016"}),
              IsOkAndHolds(R"(# The cluster.
nodes:
  login1: {role: login, address: 10.0.0.1}   # the door
  "c[001-015]":   # bought in 2024
    role: compute
    address: "10.0.0.[11-25]"  # by row
    bmc_address: '10.1.0.[26,11-24]'
racks:
  r1: {switch: sw1, nodes: "c[001-015]"}  # by the window
groups:
  fast:
    nodes:
      - login1
      # those with NVMe
      - c[014-015]
  some: {nodes: [login1, x1]}
  last: {nodes: ["x1"]}
  alone: {nodes: []}
  listed: {nodes: []}
partitions:
  gpu: {nodes: gpu, default: true}
  long: {nodes: 'login*, c[010-015],!c014'}
  test: {nodes: "x1"}
  none: {nodes: "gpu"}
vars: {x: "c[001-016]"}
)"));
}

TEST(RemoveNodes, TheEntryOfTheseNodesGoesWithItsLines) {
  EXPECT_THAT(Without(R"(nodes:
  c001: {role: compute}
  # the second
  c002:
    role: compute
    # moved in May
    vars: {motd: "#2"}

  # the rest
  c[003-004]: {role: compute}
groups: {g: {nodes: [c001, c002, c003, c004]}}
)",
                      {"c002", "c003", "c004"}),
              IsOkAndHolds(R"(nodes:
  c001: {role: compute}
  # the second

  # the rest
groups: {g: {nodes: [c001, ]}}
)"));
}

TEST(RemoveNodes, UndoesAnAddition) {
  const std::string before = R"(nodes:
  c001: {role: compute, address: 10.0.0.1}
  c002: {role: compute, address: 10.0.0.2}
groups:
  workers: {nodes: "c[001-002]"}  # all of them
partitions:
  batch: {nodes: workers, default: true}
  two: {nodes: c002}
)";
  const auto added =
      AddNodes({{kNarrowed, before}},
               {.names = {"c003"}, .addresses = {{"c003", "10.0.0.3"}}, .like = "c002"});
  ASSERT_OK(added.status());
  // But for the quotes that the list of two has needed.
  EXPECT_THAT(Without(added->at(kNarrowed), {"c003"}),
              IsOkAndHolds(absl::StrReplaceAll(before, {{": c002}", ": \"c002\"}"}})));
}

TEST(RemoveNodes, TheVariablesOfTheNodeGo) {
  const auto removal = RemoveNodes({{kNarrowed, "nodes:\n  c[1-2]: {role: compute}\n"},
                                    {"inventory/node_vars/c1.yaml", "x: 1\n"},
                                    {"inventory/node_vars/c2.yaml", "x: 1\n"},
                                    {"inventory/group_vars/c2.yaml", "x: 1\n"}},
                                   {"c2"});
  ASSERT_OK(removal.status());
  EXPECT_THAT(removal->files, ElementsAre("inventory/node_vars/c2.yaml"));
}

TEST(RemoveNodes, AnUnknownNodeChangesNothing) {
  const auto removal = RemoveNodes({{kNarrowed, "nodes:\n  c1: {role: compute}\n"}}, {"c9"});
  ASSERT_OK(removal.status());
  EXPECT_THAT(removal->texts, IsEmpty());
}

TEST(RemoveNodes, WhatItDoesNotUnderstandIsRefusedWithItsPlace) {
  const struct {
    const char* text;
    absl::StatusCode code;
  } kCases[] = {
      {"nodes:\n  c1: {role: compute}\n  c2: {role: compute}\npartitions:\n  p: {nodes: c2}\n",
       absl::StatusCode::kFailedPrecondition},
      {"nodes: {c1: {role: compute}, c2: {role: compute}}\n", absl::StatusCode::kInvalidArgument},
      {"nodes:\n  c1: {role: compute}\n  c2: &a {role: compute}\n  c3: *a\n",
       absl::StatusCode::kInvalidArgument},
      {"nodes:\n  c[1-2]: {role: compute}\ngroups:\n  g:\n    nodes:\n      - c2\n",
       absl::StatusCode::kInvalidArgument},
  };
  for (const auto& each : kCases)
    EXPECT_THAT(Without(each.text, {"c2"}), StatusIs(each.code, Said())) << each.text;
}

}  // namespace
}  // namespace muster::cli
