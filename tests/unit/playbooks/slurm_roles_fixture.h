// The shipped site, compiled for two login nodes and two workers.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "common/value/proto_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/healthy_node.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {

inline constexpr char kTwoLoginNodes[] = R"(
cluster: x
nodes:
  login1: {role: login, address: 10.0.0.1}
  login2: {role: login, address: 10.0.0.2}
  "c[001-002]": {role: compute, address: "10.0.0.[11-12]"}
)";

// The site for two login nodes, of which the first runs slurmctld, and two workers.
class SlurmRolesTest : public ::testing::Test {
 protected:
  SlurmRolesTest() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator("playbooks")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      site_[entry.path().string()] =
          std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    }
    UseInventory(kTwoLoginNodes);
    UseDebian("12");
  }

  void UseInventory(const std::string& text) {
    absl::StatusOr<Inventory> inventory = ParseInventory({{"c.yaml", text}});
    EXPECT_OK(inventory);
    if (inventory.ok()) inventory_ = *std::move(inventory);
  }

  // Containers, whose control groups Slurm cannot use.
  void UseDebian(const std::string& version) {
    for (const Node& node : inventory_.nodes()) {
      v1::Facts facts =
          testing::HealthyNode(node.role == NodeRole::kCompute ? 2 : 0, "rtx_2080_ti");
      facts.mutable_os()->set_version_id(version);
      facts.mutable_os()->set_virtualization("systemd-nspawn");
      facts.mutable_cgroup()->set_usable_by_slurm(false);
      facts_[node.name] = ProtoToValue(facts);
    }
  }

  // Debian, or Ubuntu where the version has a month.
  void UseSystem(const std::string& node, const std::string& version) {
    facts_[node]["os"]["id"] = absl::StrContains(version, '.') ? "ubuntu" : "debian";
    facts_[node]["os"]["version_id"] = version;
  }

  // The plans of the whole site, or the first error.
  std::vector<v1::Plan> Compile(absl::Status* error, const std::string& limit = "") {
    std::vector<v1::Plan> plans;
    const auto playbook = LoadPlaybook(site_, "playbooks/site.yaml");
    EXPECT_OK(playbook);
    if (!playbook.ok()) return plans;
    for (size_t play = 0; play < PlayNames(**playbook).size(); ++play) {
      const auto nodes = SelectPlayNodes(**playbook, play, inventory_, limit);
      EXPECT_OK(nodes);
      for (NodePlan& plan :
           CompilePlay(**playbook, play, inventory_, facts_, *nodes, options_, secrets_)) {
        if (!plan.error.ok() && error->ok()) *error = plan.error;
        if (plan.plan != nullptr) plans.push_back(*plan.plan);
      }
    }
    return plans;
  }

  // The steps of a role that are done, by node and name.
  std::map<std::string, std::map<std::string, v1::Step>> Steps(const std::string& role) {
    absl::Status error;
    std::map<std::string, std::map<std::string, v1::Step>> steps;
    for (const v1::Plan& plan : Compile(&error))
      for (const v1::RolePlan& r : plan.roles())
        for (const v1::Step& step : r.steps())
          if (r.name() == role && step.skip_reason().empty())
            steps[plan.node_name()][step.name()] = step;
    EXPECT_OK(error);
    return steps;
  }

  FileTree site_;
  Inventory inventory_;
  FactsByNode facts_;
  CompileOptions options_;
  testing::FakeSecretSource secrets_;
};

}  // namespace muster::controller
