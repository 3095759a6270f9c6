#include "controller/web/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "controller/inventory/inventory.h"
#include "controller/web/cached_page.h"

namespace muster::controller {
namespace {

using Json = nlohmann::json;

v1::Node NodeOf(const std::string& name, v1::NodeState state, const std::string& rack = "") {
  v1::Node node;
  node.set_name(name);
  node.set_state(state);
  node.set_rack(rack);
  return node;
}

TEST(Overview, SaysEachWordOnce) {
  std::vector<v1::Node> nodes = {
      NodeOf("c1", v1::NODE_STATE_IN_SERVICE, "r1"), NodeOf("c2", v1::NODE_STATE_QUARANTINED, "r1"),
      NodeOf("c3", v1::NODE_STATE_REMOVED, "r2"), NodeOf("m1", v1::NODE_STATE_KNOWN)};
  nodes[0].set_connected(true);
  nodes[0].set_service("drained by ann: fan");
  nodes[0].add_holds()->set_owner("admin:ann");
  nodes[0].set_role("compute");
  nodes[1].set_facts_refused("gpus[0]: bad");
  nodes[1].set_last_run_result("failed");
  const absl::StatusOr<Inventory> inventory = ParseInventory(
      {{"c.yaml",
        "cluster: c\nracks:\n  r1: {switch: sw1, nodes: \"c[1-2]\"}\nnodes:\n  \"c[1-2]\": {role: "
        "compute}\n"}});
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  EXPECT_EQ(Json::parse(OverviewJson(nodes, &*inventory)), Json::parse(R"({
      "racks": [["r1", "sw1"]],
      "states": ["in_service", "quarantined", "known"],
      "services": ["drained by ann: fan"],
      "roles": ["compute"],
      "nodes": [["c1", 0, 0, 0, 0, 3], ["c2", 0, 1, -1, -1, 12], ["m1", -1, 2, -1, -1, 0]]})"));
}

TEST(Overview, IsThereWithoutAnInventory) {
  const Json page =
      Json::parse(OverviewJson({NodeOf("c1", v1::NODE_STATE_ENROLLED, "r1")}, nullptr));
  EXPECT_EQ(page["racks"], Json::parse(R"([["r1", ""]])"));
}

TEST(Overview, HostileTextsStayTexts) {
  v1::Node node = NodeOf("c1", v1::NODE_STATE_IN_SERVICE);
  node.set_service("\"],<script>alert(1)</script>\n\xff\x01\\");
  const std::string text = OverviewJson({node}, nullptr);
  EXPECT_EQ(text.find('\n'), std::string::npos);  // a line of an event is one line
  const Json page = Json::parse(text);
  EXPECT_EQ(page["services"][0], "\"],<script>alert(1)</script>\n\xEF\xBF\xBD\x01\\");
}

TEST(Overview, TenThousandNodesAreSmall) {
  std::vector<v1::Node> nodes;
  for (int i = 0; i < 10'000; ++i) {
    nodes.push_back(NodeOf(absl::StrFormat("c%05d", i), v1::NODE_STATE_IN_SERVICE,
                           absl::StrFormat("r%03d", i / 40)));
    nodes.back().set_service("in service");
    nodes.back().set_role("compute");
    nodes.back().set_connected(true);
  }
  const RenderedPage page = Render(OverviewJson(nodes, nullptr));
  EXPECT_LT(page.text.size(), 300'000u);
  EXPECT_LT(page.gzip.size(), 100'000u);
}

}  // namespace
}  // namespace muster::controller
