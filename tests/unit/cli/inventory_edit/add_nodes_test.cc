#include "cli/inventory_edit/add_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/inventory_edit/inventory_texts.h"
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
using ::testing::Pair;
using Files = std::map<std::string, std::string>;

constexpr char kFile[] = "inventory/cluster.yaml";

// What becomes of one file.
absl::StatusOr<std::string> Edit(const std::string& text, const NodeAddition& addition) {
  const auto changed = AddNodes({{kFile, text}}, addition);
  if (!changed.ok()) return changed.status();
  return changed->empty() ? text : changed->at(kFile);
}

TEST(AddNodes, WidensEveryListThatNamesTheNode) {
  // Comments, blank lines, quotes and order stay as they are.
  EXPECT_THAT(Edit(R"(# The cluster.
cluster: hpc1

nodes:
  login1: {role: login, address: 10.0.0.1}   # the door
  "c[001-016]":   # bought in 2024
    role: compute
    address: "10.0.0.[11-26]"  # by row
    bmc_address: '10.1.0.[11-26]'
    groups: [gpu]
# Racks, by room.
racks:
  r1: {switch: sw1, nodes: "c[001-016]"}
  r2: {switch: sw2, nodes: login1}
groups:
  gpu:

    vars: {gpu_count: 8}
  fast:
    nodes:
      - login1
      - c[015-016]  # those with NVMe
      - c014
  cluster_nodes: {nodes: login1, groups: [gpu]}
partitions:
  gpu: {nodes: gpu, default: true}
  long: {nodes: 'login*, c[010-016],!c014'}
  test: {nodes: c016}
  none: {nodes: "gpu,!c016"}
updates:
  nightly: {playbook: site.yaml, nodes: "c[009-016]", window: "22:00-06:00"}
  all: {playbook: site.yaml}
vars: {x: "c[001-016]"}
)",
                   {.names = {"c017", "c018"},
                    .addresses = {{"c017", "10.0.0.27"}, {"c018", "10.0.0.28"}},
                    .bmc_addresses = {{"c017", "10.1.0.40"}, {"c018", "10.1.0.41"}},
                    .like = "c016",
                    .rack = ""}),
              IsOkAndHolds(R"(# The cluster.
cluster: hpc1

nodes:
  login1: {role: login, address: 10.0.0.1}   # the door
  "c[001-018]":   # bought in 2024
    role: compute
    address: "10.0.0.[11-28]"  # by row
    bmc_address: '10.1.0.[11-26,40-41]'
    groups: [gpu]
# Racks, by room.
racks:
  r1: {switch: sw1, nodes: "c[001-018]"}
  r2: {switch: sw2, nodes: login1}
groups:
  gpu:

    vars: {gpu_count: 8}
  fast:
    nodes:
      - login1
      - c[015-018]  # those with NVMe
      - c014
  cluster_nodes: {nodes: login1, groups: [gpu]}
partitions:
  gpu: {nodes: gpu, default: true}
  long: {nodes: 'login*, c[010-018],!c014'}
  test: {nodes: "c[016-018]"}
  none: {nodes: "gpu,!c[016-018]"}
updates:
  nightly: {playbook: site.yaml, nodes: "c[009-018]", window: "22:00-06:00"}
  all: {playbook: site.yaml}
vars: {x: "c[001-016]"}
)"));
}

TEST(AddNodes, PlainKeysAndValuesOfBlockStyleStayPlain) {
  EXPECT_THAT(Edit("nodes:\n  c[01-02]:\n    role: compute\n    address: 10.0.0.[1-2]\n",
                   {.names = {"c03"}, .addresses = {{"c03", "10.0.0.3"}}, .like = "c01"}),
              IsOkAndHolds("nodes:\n  c[01-03]:\n    role: compute\n    address: 10.0.0.[1-3]\n"));
}

TEST(AddNodes, TheEntryOfOneNodeIsCopiedWithoutItsComments) {
  EXPECT_THAT(Edit(R"(nodes:
  c001: {role: compute, address: 10.0.0.1}  # the first
  c002:  # the second
    role: compute
    # moved in May
    address: 10.0.0.2  # was 10.0.0.9
    vars:
      motd: "it's #2"
      list: [1, 2]

  # the rest
  x1: {role: compute}
groups: {g: {nodes: "c[001-002]"}}
)",
                   {.names = {"c003"}, .addresses = {{"c003", "10.0.0.3"}}, .like = "c002"}),
              IsOkAndHolds(R"(nodes:
  c001: {role: compute, address: 10.0.0.1}  # the first
  c002:  # the second
    role: compute
    # moved in May
    address: 10.0.0.2  # was 10.0.0.9
    vars:
      motd: "it's #2"
      list: [1, 2]
  c003:
    role: compute
    address: 10.0.0.3
    vars:
      motd: "it's #2"
      list: [1, 2]

  # the rest
  x1: {role: compute}
groups: {g: {nodes: "c[001-003]"}}
)"));
}

TEST(AddNodes, SeveralCopiesBecomeOneEntry) {
  EXPECT_THAT(Edit("nodes:\n  c002: {role: compute, address: 10.0.0.2}",
                   {.names = {"c003", "c004"},
                    .addresses = {{"c003", "10.0.0.3"}, {"c004", "10.0.0.4"}},
                    .like = "c002"}),
              IsOkAndHolds("nodes:\n  c002: {role: compute, address: 10.0.0.2}\n"
                           "  \"c[003-004]\": {role: compute, address: \"10.0.0.[3-4]\"}\n"));
}

TEST(AddNodes, AnEntryOfAFlowMapIsWidened) {
  EXPECT_THAT(Edit("nodes: {a: {role: login}, c002: {role: compute}}\n",
                   {.names = {"c003"}, .like = "c002"}),
              IsOkAndHolds("nodes: {a: {role: login}, \"c[002-003]\": {role: compute}}\n"));
  EXPECT_THAT(
      Edit("nodes: {\n  a: {role: login},\n  c002: {role: compute}\n}\n",
           {.names = {"c003"}, .like = "c002"}),
      IsOkAndHolds("nodes: {\n  a: {role: login},\n  \"c[002-003]\": {role: compute}\n}\n"));
}

TEST(AddNodes, ByteOrderMarksAndOtherNewlinesStay) {
  EXPECT_THAT(Edit("\xEF\xBB\xBFnodes:\r\n  \"c[1-2]\": {role: compute}\r\nracks: {}\r\n",
                   {.names = {"c3"}, .like = "c1"}),
              IsOkAndHolds("\xEF\xBB\xBFnodes:\r\n  \"c[1-3]\": {role: compute}\r\nracks: {}\r\n"));
}

TEST(AddNodes, SectionsOfSeveralFiles) {
  const Files files = {
      {"inventory/cluster.yaml", "cluster: x\n"},
      {"inventory/group_vars/racks.yaml", "racks: {r1: {nodes: c1}}\n"},
      {"inventory/nodes.yaml", "nodes:\n  \"c[1-2]\": {role: compute}\n"},
      {"inventory/room/racks.yaml", "racks:\n  r1:\n    nodes: c[1-2]\n"},
  };
  const auto changed = AddNodes(files, {.names = {"c3"}, .like = "c2"});
  ASSERT_OK(changed);
  EXPECT_THAT(*changed,
              ElementsAre(Pair("inventory/nodes.yaml", "nodes:\n  \"c[1-3]\": {role: compute}\n"),
                          Pair("inventory/room/racks.yaml", "racks:\n  r1:\n    nodes: c[1-3]\n")));
}

TEST(AddNodes, IntoAnotherRackThatListsItsNodes) {
  constexpr char kText[] = R"(nodes:
  "c[1-2]": {role: compute}
racks:
  r1: {nodes: "c[1-2]"}
  r2: {nodes: [x1, x2]}
)";
  EXPECT_THAT(Edit(kText, {.names = {"c3"}, .like = "c2", .rack = "r2"}), IsOkAndHolds(R"(nodes:
  "c[1-3]": {role: compute}
racks:
  r1: {nodes: "c[1-2]"}
  r2: {nodes: [x1, "x2,c3"]}
)"));
  EXPECT_THAT(Edit(kText, {.names = {"c3"}, .like = "c2", .rack = "r9"}),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST(AddNodes, IntoAnotherRackThatEntriesName) {
  constexpr char kText[] = R"(racks: {r1: {switch: s}, r2: {switch: s}}
nodes:
  "c[1-2]":
    role: compute
    rack: r1
    groups: [gpu]
)";
  EXPECT_THAT(Edit(kText, {.names = {"c3"}, .like = "c2", .rack = "r2"}),
              IsOkAndHolds(R"(racks: {r1: {switch: s}, r2: {switch: s}}
nodes:
  "c[1-2]":
    role: compute
    rack: r1
    groups: [gpu]
  "c3":
    role: compute
    rack: r2
    groups: [gpu]
)"));
  EXPECT_THAT(Edit(kText, {.names = {"c3"}, .like = "c2", .rack = "r1"}),
              IsOkAndHolds(R"(racks: {r1: {switch: s}, r2: {switch: s}}
nodes:
  "c[1-3]":
    role: compute
    rack: r1
    groups: [gpu]
)"));
  EXPECT_THAT(Edit("racks: {r2: {}}\nnodes: {c1: {role: compute}}\n",
                   {.names = {"c2"}, .like = "c1", .rack = "r2"}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Edit("racks: {r1: {}, r2: {}}\nnodes: {c1: {role: compute, rack: r1}}\n",
                   {.names = {"c2"}, .like = "c1", .rack = "r2"}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(AddNodes, WhatCannotBeAdded) {
  const struct {
    const char* what;
    const char* text;
    NodeAddition addition;
    absl::StatusCode code;
  } kCases[] = {
      {"a node that exists",
       "nodes:\n  \"c[1-3]\": {role: compute}\n",
       {.names = {"c4", "c3"}, .like = "c1"},
       absl::StatusCode::kAlreadyExists},
      {"like nobody",
       "nodes:\n  \"c[1-3]\": {role: compute}\n",
       {.names = {"c4"}, .like = "d1"},
       absl::StatusCode::kNotFound},
      {"no address among addresses",
       "nodes:\n  \"c[1-2]\": {role: compute, address: \"10.0.0.[1-2]\"}\n",
       {.names = {"c3"}, .like = "c1"},
       absl::StatusCode::kInvalidArgument},
      {"no address of its controller",
       "nodes:\n  c1: {role: compute, bmc_address: 10.1.0.1}\n",
       {.names = {"c2"}, .like = "c1"},
       absl::StatusCode::kInvalidArgument},
      {"an address where nobody has one",
       "nodes:\n  \"c[1-2]\": {role: compute}\n",
       {.names = {"c3"}, .addresses = {{"c3", "10.0.0.3"}}, .like = "c1"},
       absl::StatusCode::kInvalidArgument},
      {"like a node with a MAC address",
       "nodes:\n  c1: {role: compute, mac: \"aa:bb:cc:00:00:01\"}\n",
       {.names = {"c2"}, .like = "c1"},
       absl::StatusCode::kInvalidArgument},
      {"MAC addresses for an entry in one line with others",
       "nodes: {c1: {role: compute}, c2: {role: compute}}\n",
       {.names = {"c3"}, .macs = {{"c3", {"aa:bb:cc:00:00:03"}}}, .like = "c1"},
       absl::StatusCode::kInvalidArgument},
      {"MAC addresses beside those of a list in lines",
       "nodes:\n  c1:\n    mac:\n      - \"aa:bb:cc:00:00:01\"\n    role: compute\n",
       {.names = {"c3"}, .macs = {{"c3", {"aa:bb:cc:00:00:03"}}}, .like = "c1"},
       absl::StatusCode::kInvalidArgument},
      {"MAC addresses and nothing to copy",
       "nodes:\n  c1:\nnode_vars: {}\n",
       {.names = {"c3"}, .macs = {{"c3", {"aa:bb:cc:00:00:03"}}}, .like = "c1"},
       absl::StatusCode::kInvalidArgument},
      {"a list behind an anchor",
       "nodes:\n  \"c[1-2]\": {role: compute}\ngroups: {g: {nodes: &n \"c[1-2]\"}}\n"
       "partitions: {p: {nodes: *n}}\n",
       {.names = {"c3"}, .like = "c1"},
       absl::StatusCode::kInvalidArgument},
      {"a list over two lines",
       "nodes:\n  \"c[1-2]\": {role: compute}\ngroups:\n  g:\n    nodes: \"x,\\\n      c[1-2]\"\n",
       {.names = {"c3"}, .like = "c1"},
       absl::StatusCode::kInvalidArgument},
      {"no YAML", "nodes: {", {.names = {"c3"}, .like = "c1"}, absl::StatusCode::kInvalidArgument},
  };
  for (const auto& each : kCases)
    EXPECT_THAT(Edit(each.text, each.addition), StatusIs(each.code, Said())) << each.what;
}

TEST(AddNodes, NodesWithMacAddressesGetAnEntryOfTheirOwn) {
  const NodeAddition two = {.names = {"c3", "c4"},
                            .addresses = {{"c3", "10.0.0.13"}, {"c4", "10.0.0.14"}},
                            .macs = {{"c3", {"aa:bb:cc:00:00:03"}}, {"c4", {"aa:bb:cc:00:00:04"}}},
                            .like = "c2"};
  // Beside nodes without, in lines and in brackets; and in the place of others'.
  EXPECT_THAT(Edit(R"(nodes:
  "c[1-2]":  # two
    role: compute
    address: 10.0.0.[11-12]
  login1: {role: login}
groups: {gpu: {nodes: "c[1-2]"}}
)",
                   two),
              IsOkAndHolds(Said()));
  EXPECT_THAT(Edit(R"(nodes:
  "c[1-2]": {role: compute, address: "10.0.0.[11-12]"}
  login1: {role: login}
)",
                   two),
              IsOkAndHolds(Said()));
  EXPECT_THAT(Edit(R"(nodes:
  "c[1-2]":
    mac: ["aa:bb:cc:00:00:01", "aa:bb:cc:00:00:02"]
    role: compute
    address: 10.0.0.[11-12]
)",
                   two),
              IsOkAndHolds(Said()));
  // An entry of several nodes has one address for each.
  NodeAddition ports = two;
  ports.macs["c4"].push_back("aa:bb:cc:00:00:14");
  EXPECT_THAT(Edit(R"(nodes:
  "c[1-2]": {role: compute, address: "10.0.0.[11-12]"}
  login1: {role: login}
groups: {gpu: {nodes: "c[1-2]"}}
)",
                   ports),
              IsOkAndHolds(Said()));
  EXPECT_THAT(Edit(R"(nodes:
  c2:
    mac: ["aa:bb:cc:00:00:02", "aa:bb:cc:00:00:12"]
    role: compute
    address: 10.0.0.12)",
                   ports),
              IsOkAndHolds(Said()));
  const NodeAddition one = {.names = {"c3"}, .macs = {{"c3", {"aa:bb:cc:00:00:03"}}}, .like = "c2"};
  EXPECT_THAT(Edit("nodes:\n  c2: {role: compute, mac: 'aa:bb:cc:00:00:02', rack: r1}\n", one),
              IsOkAndHolds(Said()));
}

TEST(AddNodes, TheNeighborIsTheNearestByItsNumber) {
  const std::vector<std::string> nodes = {"login1", "c001", "c016", "c020", "g001"};
  EXPECT_EQ(NodeLike(nodes, "c017"), "c016");
  EXPECT_EQ(NodeLike(nodes, "c000"), "c001");
  EXPECT_EQ(NodeLike(nodes, "c099"), "c020");
  EXPECT_EQ(NodeLike(nodes, "g002"), "g001");
  EXPECT_EQ(NodeLike(nodes, "x1"), "");
  EXPECT_EQ(NodeLike(nodes, "server"), "");
}

TEST(AddNodes, NamesOfAllFiles) {
  EXPECT_THAT(NodesOf({{"a.yaml", "nodes: {c1: {role: compute}}"},
                       {"b.yaml", "nodes: {\"d[1-2]\": {role: compute}}"},
                       {"c.yaml", "vars: {}"}}),
              IsOkAndHolds(ElementsAre("c1", "d1", "d2")));
  EXPECT_THAT(NodesOf({}), IsOkAndHolds(IsEmpty()));
}

}  // namespace
}  // namespace muster::cli
