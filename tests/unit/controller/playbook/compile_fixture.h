// A small site and cluster for tests of the playbook compiler.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/value/secret_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "controller/playbook/secret_readers.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {

inline constexpr char kCluster[] = R"(
cluster: hpc1
domain: hpc1.example
racks:
  r1: {power_limit_watts: 6000, nodes: "c[001-002]"}
groups:
  gpu: {nodes: "c[001-002]", vars: {gpu_driver: "535", level: group}}
nodes:
  login1: {role: login, address: 10.0.0.1}
  c001: {role: compute, address: 10.0.0.11, vars: {level: node}}
  c002: {role: compute, address: 10.0.0.12}
  c003: {role: compute, address: 10.0.0.13}
partitions:
  batch: {nodes: compute, default: true}
vars: {level: inventory, full_name: "{{ node.name }}.{{ domain }}"}
)";

class CompileTest : public ::testing::Test {
 protected:
  CompileTest() {
    absl::StatusOr<Inventory> parsed = ParseInventory({{"cluster.yaml", kCluster}});
    EXPECT_OK(parsed);
    inventory = *std::move(parsed);
    for (const Node& node : inventory.nodes()) {
      facts[node.name] = {{"hostname", node.name}, {"gpus", Value::array()}};
    }
  }

  // Makes role r from these tasks, and a playbook with only this role.
  void SetTasks(const std::string& tasks, const std::string& handlers = "") {
    site["playbooks/site.yaml"] = "- play: p\n  hosts: all\n  roles: [r]\n";
    site["playbooks/roles/r/tasks/main.yaml"] = tasks;
    if (!handlers.empty()) site["playbooks/roles/r/handlers/main.yaml"] = handlers;
  }

  // Only these roles may read secrets, as in JoinRoles().
  void ReadBy(const std::string& roles) {
    secrets.may_read = [roles](absl::string_view name, const SecretReader& reader) {
      return CheckReader(name, roles, reader);
    };
  }

  absl::StatusOr<std::shared_ptr<const Playbook>> Load() {
    return LoadPlaybook(site, "playbooks/site.yaml");
  }

  std::vector<NodePlan> CompileFor(const std::vector<std::string>& nodes, size_t play = 0) {
    const auto playbook = Load();
    EXPECT_OK(playbook);
    if (!playbook.ok()) return {};
    return CompilePlay(**playbook, play, inventory, facts, nodes, options, secrets);
  }

  // The plan for c001; an empty one after a failure, which the test then shows.
  v1::Plan Compile(size_t play = 0) {
    const std::vector<NodePlan> plans = CompileFor({"c001"}, play);
    if (plans.size() != 1 || plans[0].plan == nullptr) {
      ADD_FAILURE() << (plans.empty() ? "not loaded" : plans[0].error.ToString());
      return v1::Plan();
    }
    return *plans[0].plan;
  }

  // The error for c001.
  absl::Status CompileError() {
    const std::vector<NodePlan> plans = CompileFor({"c001"});
    if (plans.empty()) return absl::InternalError("not loaded");
    EXPECT_EQ(plans[0].plan, nullptr);
    return plans[0].error;
  }

  FileTree site;
  Inventory inventory;
  FactsByNode facts;
  CompileOptions options;
  testing::FakeSecretSource secrets;
};

// The ids of a role's steps.
inline std::vector<std::string> StepIds(const v1::RolePlan& role) {
  std::vector<std::string> ids;
  for (const v1::Step& step : role.steps()) ids.push_back(step.step_id());
  return ids;
}

}  // namespace muster::controller
