// Variables of the inventory: the places of their errors, and the memory that they take in `nodes`.
#include <deque>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/value/folded_value.h"
#include "controller/playbook/compile/shared_values.h"
#include "tests/unit/controller/playbook/compile_fixture.h"

namespace muster::controller {
namespace {

using ::testing::HasSubstr;

class InventoryVariablesTest : public CompileTest {
 protected:
  void UseInventory(std::map<std::string, std::string> files) {
    files["cluster.yaml"] = kCluster;
    absl::StatusOr<Inventory> parsed = ParseInventory(files);
    ASSERT_OK(parsed);
    inventory = *std::move(parsed);
  }
};

TEST_F(InventoryVariablesTest, AnErrorInAVariableHasTheLineOfTheTemplate) {
  UseInventory({{"group_vars/gpu.yaml",
                 "block: |\n"
                 "  first\n"
                 "  second {{ nowhere }}\n"
                 "nested:\n"
                 "  plain: 1\n"
                 "  list:\n"
                 "    - \"{{ elsewhere }}\"\n"
                 "broken: >-\n"
                 "  {{ 1 +\n"}});
  const auto error_of = [&](const std::string& variable) {
    SetTasks(absl::StrCat("- {name: a, file: {path: /a, content: \"{{ ", variable, " }}\"}}\n"));
    return std::string(CompileError().message());
  };
  EXPECT_THAT(error_of("block"), HasSubstr("group_vars/gpu.yaml:3:13: "));
  EXPECT_THAT(error_of("nested.list"), HasSubstr("group_vars/gpu.yaml:7:11: "));
  EXPECT_THAT(error_of("broken"), HasSubstr("group_vars/gpu.yaml:9:"));
  SetTasks("- {name: a, file: {path: /a, content: \"{{ gpu_driver }}\"}}\n");
  EXPECT_EQ(Compile().roles(0).steps(0).file().content(), "535");
}

TEST_F(InventoryVariablesTest, KeysOfMapsAreNoTemplates) {
  UseInventory({{"group_vars/gpu.yaml", "labels:\n  \"{{ a }}\": \"{{ node.name }}\"\n"}});
  SetTasks(
      "- name: a\n  file: {path: /a, content: \"{% for k, v in labels.items() %}{{ k }}={{ v }}"
      "{% endfor %}\"}\n");
  EXPECT_EQ(Compile().roles(0).steps(0).file().content(), "{{ a }}=c001");
}

// A megabyte of users in group_vars/all took 6 GB for 6,000 nodes.
TEST_F(InventoryVariablesTest, NodesShareTheVariablesOfTheirGroups) {
  std::string users = "greeting: \"hello {{ node.name }}\"\nusers:\n";
  while (users.size() < 200'000)
    absl::StrAppend(&users, "  - {name: user", users.size(), ", uid: ", users.size(), "}\n");
  const auto big = ParseInventory(
      {{"cluster.yaml",
        "cluster: x\nnodes:\n"
        "  c[1-2500]: {role: compute, vars: {rail: 1}}\n  d[1-2500]: {role: compute}\n"},
       {"group_vars/all.yaml", users},
       {"node_vars/c7.yaml", "site: here\n"}});
  ASSERT_OK(big);
  std::deque<Value> shared;
  const Value nodes = playbook::NodesValue(*big, {}, &shared);
  ASSERT_EQ(nodes.size(), 5000u);
  EXPECT_EQ(shared.size(), 3u) << "for c, for d, and for c7";
  const Value& written = *big->FindGroup("all")->vars.back().value;
  for (const auto& [name, node] : nodes.items()) {
    ASSERT_TRUE(IsFolded(node["vars"])) << name;
    const Value& vars = *LentValue(node["vars"]);
    ASSERT_EQ(LentValue(vars["users"]), &written) << name;
  }
  const Value c7 = UnfoldAll(nodes["c7"]["vars"]);
  EXPECT_EQ(c7, Value({{"users", written}, {"rail", 1}, {"site", "here"}})) << "without templates";
  EXPECT_FALSE(UnfoldAll(nodes["d1"]["vars"]).contains("rail"));
}

TEST_F(InventoryVariablesTest, NodesBorrowTheFacts) {
  facts["stranger"] = facts.at("c001");
  facts.erase("c002");
  std::deque<Value> shared;
  const Value nodes = playbook::NodesValue(inventory, facts, &shared);
  ASSERT_TRUE(IsFolded(nodes["c001"]["facts"]));
  EXPECT_EQ(LentValue(nodes["c001"]["facts"]), &facts.at("c001"));
  EXPECT_FALSE(nodes["c002"].contains("facts"));
  EXPECT_FALSE(nodes.contains("stranger"));
}

// `nodes` is made in the middle of the node's templates.
TEST_F(InventoryVariablesTest, TemplatesReadTheFactsOfOtherNodesBesideTheirOwn) {
  SetTasks(
      "- name: own\n  file: {path: /a, content: \"{{ facts.hostname }}\"}\n"
      "- name: others\n  file: {path: /b, content: \"{% for n in nodes.values() %}"
      "{{ n.facts.hostname }} {% endfor %}\"}\n"
      "- name: still\n  file: {path: /c, content: \"{{ facts.hostname }} "
      "{{ nodes[node.name].facts == facts }}\"}\n");
  for (const NodePlan& plan : CompileFor({"c001", "c002"})) {
    ASSERT_OK(plan.error);
    const v1::RolePlan& role = plan.plan->roles(0);
    EXPECT_EQ(role.steps(0).file().content(), plan.node);
    EXPECT_EQ(role.steps(1).file().content(), "login1 c001 c002 c003 ");
    EXPECT_EQ(role.steps(2).file().content(), plan.node + " True");
  }
}

TEST_F(InventoryVariablesTest, TemplatesReadTheVariablesOfOtherNodes) {
  UseInventory({{"group_vars/all.yaml", "rails: [a, b]\nlevel: all\n"}});
  SetTasks(
      "- name: a\n  file: {path: /a, content: \"{% for n in nodes.values() %}{{ n.name }}:"
      "{{ n.vars.rails | join('+') }}:{{ n.vars.level }} {% endfor %}\"}\n");
  EXPECT_EQ(Compile().roles(0).steps(0).file().content(),
            "login1:a+b:all c001:a+b:node c002:a+b:group c003:a+b:all ");
}

}  // namespace
}  // namespace muster::controller
