// The shipped playbooks, compiled for the clusters that they are meant for.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/value/proto_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/healthy_node.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {

// The package cache comes first: the others may have no other way to packages. Then storage
// servers: the others mount what they serve. Then GPU drivers, which slurm.conf depends on.
inline constexpr size_t kLoginPlay = 4;

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

// The facts that an agent on one of the machines would report.
inline v1::Facts FactsOf(const std::string& version, const std::string& virtualization, int gpus) {
  v1::Facts facts = testing::HealthyNode(gpus, "rtx_2080_ti");
  facts.mutable_os()->set_version_id(version);
  facts.mutable_os()->set_codename(version == "13" ? "trixie" : "bookworm");
  facts.mutable_os()->set_virtualization(virtualization);
  facts.mutable_cgroup()->set_usable_by_slurm(virtualization == "none");
  for (const char* name : {"eth0", "eth1"}) facts.add_nics()->set_name(name);
  return facts;
}

class SiteTest : public ::testing::Test {
 protected:
  SiteTest() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator("playbooks"))
      if (entry.is_regular_file()) site_[entry.path().string()] = ReadFile(entry.path());
  }

  void UseCluster(const std::string& name) {
    const std::string path = absl::StrCat("inventory/examples/", name, "/cluster.yaml");
    absl::StatusOr<Inventory> inventory = ParseInventory({{path, ReadFile(path)}});
    ASSERT_OK(inventory);
    inventory_ = *std::move(inventory);
  }

  void GiveFacts(const std::string& version, const std::string& virtualization, int gpus) {
    for (const Node& node : inventory_.nodes())
      facts_[node.name] = ProtoToValue(
          FactsOf(version, virtualization, node.role == NodeRole::kCompute ? gpus : 0));
  }

  // Every plan of every play; all must compile.
  std::vector<v1::Plan> CompileAll() {
    std::vector<v1::Plan> plans;
    const auto playbook = LoadPlaybook(site_, "playbooks/site.yaml");
    EXPECT_OK(playbook);
    if (!playbook.ok()) return plans;
    for (size_t play = 0; play < PlayNames(**playbook).size(); ++play) {
      const auto nodes = SelectPlayNodes(**playbook, play, inventory_, "");
      EXPECT_OK(nodes);
      for (NodePlan& plan :
           CompilePlay(**playbook, play, inventory_, facts_, *nodes, options_, secrets_)) {
        EXPECT_OK(plan.error) << plan.node;
        if (plan.plan != nullptr) plans.push_back(*plan.plan);
      }
    }
    return plans;
  }

  // The content of such a file in the first plan that has one; "" if none has.
  static std::string Content(const std::vector<v1::Plan>& plans, const std::string& path) {
    for (const v1::Plan& plan : plans)
      for (const v1::RolePlan& role : plan.roles())
        for (const v1::Step& step : role.steps())
          if (step.has_file() && step.file().path() == path) return step.file().content();
    return "";
  }

  // The mounts of nfs_client, on whatever node.
  static std::set<std::string> Mounts(const std::vector<v1::Plan>& plans) {
    std::set<std::string> mounts;
    for (const v1::Plan& plan : plans)
      for (const v1::RolePlan& role : plan.roles())
        for (const v1::Step& step : role.steps())
          for (const v1::MountResource& mount : step.mounts().mounts())
            mounts.insert(absl::StrCat(mount.source(), " at ", mount.path(), " as ",
                                       mount.fs_type(), " with ",
                                       absl::StrJoin(mount.options(), ",")));
    return mounts;
  }

  static int CountSteps(const std::vector<v1::Plan>& plans, const std::string& role,
                        const std::string& name, bool skipped) {
    int count = 0;
    for (const v1::Plan& plan : plans)
      for (const v1::RolePlan& r : plan.roles())
        for (const v1::Step& step : r.steps())
          count +=
              r.name() == role && step.name() == name && skipped == !step.skip_reason().empty();
    return count;
  }

  FileTree site_;
  Inventory inventory_;
  FactsByNode facts_;
  CompileOptions options_;
  testing::FakeSecretSource secrets_;
};

}  // namespace muster::controller
