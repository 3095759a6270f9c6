// Shipped roles in a playbook of their own, compiled for a small cluster: two login nodes, of which
// one has an address of IPv6, and a worker.
#pragma once

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/value/proto_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/healthy_node.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {

class RolesFixture : public ::testing::Test {
 protected:
  RolesFixture(const char* playbook, std::initializer_list<const char*> roles) {
    const std::filesystem::path folder = "playbooks/roles";
    for (const char* role : roles)
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / role)) {
        if (!entry.is_regular_file()) continue;
        std::ifstream in(entry.path(), std::ios::binary);
        site_[entry.path().string()] =
            std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      }
    site_["playbooks/roles.yaml"] = playbook;
    UseInventory(
        "cluster: x\nnodes: {login1: {role: login, address: 10.0.0.1}, login2: "
        "{role: login, address: \"2001:db8::2\"}, c001: {role: compute, address: "
        "10.0.0.11}}\n");
    GiveOs("debian", "12");
  }

  void UseInventory(const std::string& text) {
    absl::StatusOr<Inventory> inventory = ParseInventory({{"c.yaml", text}});
    ASSERT_OK(inventory);
    inventory_ = *std::move(inventory);
  }

  void GiveOs(const std::string& id, const std::string& version) {
    for (const Node& node : inventory_.nodes()) {
      v1::Facts facts = testing::HealthyNode(0);
      facts.mutable_os()->set_id(id);
      facts.mutable_os()->set_version_id(version);
      facts.mutable_cgroup()->set_usable_by_slurm(true);
      facts_[node.name] = ProtoToValue(facts);
    }
  }

  // Adds variables to those that are set.
  void Set(const std::string& json) {
    const auto variables = nlohmann::ordered_json::parse(json);
    for (const auto& [name, value] : variables.items()) options_.extra_vars[name] = value;
  }

  NodePlan Compile(const std::string& node) {
    const auto playbook = LoadPlaybook(site_, "playbooks/roles.yaml");
    EXPECT_OK(playbook);
    if (!playbook.ok()) return {};
    auto plans = CompilePlay(**playbook, 0, inventory_, facts_, {node}, options_, secrets_);
    return std::move(plans.at(0));
  }

  // The step of that name on the node, the handlers' too.
  v1::Step Step(const std::string& node, const std::string& name) {
    const NodePlan plan = Compile(node);
    EXPECT_OK(plan.error);
    if (plan.plan == nullptr) return {};
    for (const v1::RolePlan& role : plan.plan->roles()) {
      for (const v1::Step& step : role.steps())
        if (step.name() == name) return step;
      for (const v1::Step& step : role.handlers())
        if (step.name() == name) return step;
    }
    ADD_FAILURE() << "no step " << name << " on " << node;
    return {};
  }

  // The file that the node has at that path; one that is absent has no content.
  v1::FileResource File(const std::string& node, const std::string& path) {
    const NodePlan plan = Compile(node);
    EXPECT_OK(plan.error);
    if (plan.plan == nullptr) return {};
    for (const v1::RolePlan& role : plan.plan->roles())
      for (const v1::Step& step : role.steps()) {
        if (!step.has_file() || step.file().path() != path || !step.skip_reason().empty()) continue;
        v1::FileResource file = step.file();
        const auto large = plan.blobs.find(file.blob_sha256());  // beside the plan
        if (large != plan.blobs.end()) file.set_content(*large->second);
        return file;
      }
    return {};
  }

  std::vector<std::string> RolesOf(const std::string& node) {
    const NodePlan plan = Compile(node);
    EXPECT_OK(plan.error);
    std::vector<std::string> names;
    if (plan.plan != nullptr)
      for (const v1::RolePlan& role : plan.plan->roles()) names.push_back(role.name());
    return names;
  }

  FileTree site_;
  Inventory inventory_;
  FactsByNode facts_;
  CompileOptions options_;
  testing::FakeSecretSource secrets_;
};

}  // namespace muster::controller
