// The example clusters.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/playbooks/site_fixture.h"

namespace muster::controller {
namespace {

using ::testing::HasSubstr;

TEST_F(SiteTest, EveryExampleClusterCompiles) {
  for (const auto& entry : std::filesystem::directory_iterator("inventory/examples")) {
    SCOPED_TRACE(entry.path().string());
    facts_.clear();
    UseCluster(entry.path().filename().string());
    GiveFacts("12", "none", 2);
    const auto plans = CompileAll();
    EXPECT_GE(plans.size(), inventory_.FindGroup("login")->nodes.size() +
                                inventory_.FindGroup("compute")->nodes.size());
    EXPECT_THAT(Content(plans, "/etc/slurm/slurm.conf"), HasSubstr("PartitionName="));
  }
}

// A package that Debian's main archive does not carry, and the repository of the examples that
// does.
constexpr std::pair<const char*, const char*> kVendorPackages[] = {
    {"(nvidia|libnvidia-ml|libcuda)[a-z0-9-]*", "gpu-driver-distribution"},
    {"nvidia-container-toolkit(-base)?|libnvidia-container[a-z0-9-]*", "nvidia-containers"},
    {"enroot([+]caps)?|nvslurm-plugin-pyxis", "enroot"},
    {"apptainer", "apptainer"},
    {"beegfs-.*|libbeegfs-ib", "beegfs"},
};

TEST_F(SiteTest, EveryExampleSaysWhereItsPackagesComeFrom) {
  for (const auto& entry : std::filesystem::directory_iterator("inventory/examples")) {
    facts_.clear();
    UseCluster(entry.path().filename().string());
    GiveFacts("12", "none", 2);
    for (auto& [node, facts] : facts_)
      if (inventory_.FindNode(node)->role == NodeRole::kCompute)
        facts["pci_devices"] = {
            {{"vendor_id", "10de"}, {"device_id", "1b06"}, {"class_code", "030000"}}};
    std::map<std::string, std::set<std::string>> needed, repositories;  // by node
    for (const v1::Plan& plan : CompileAll())
      for (const v1::RolePlan& role : plan.roles())
        for (const v1::Step& step : role.steps()) {
          if (!step.skip_reason().empty()) continue;
          if (step.has_package_repository() &&
              step.package_repository().state() != v1::PRESENCE_ABSENT)
            repositories[plan.node_name()].insert(step.package_repository().name());
          if (!step.has_package() || step.package().state() == v1::PACKAGE_STATE_ABSENT) continue;
          for (const std::string& name : step.package().names())
            for (const auto& [pattern, repository] : kVendorPackages)
              if (RE2::FullMatch(name, pattern)) needed[plan.node_name()].insert(repository);
        }
    EXPECT_FALSE(needed.empty()) << entry.path();
    for (const auto& [node, names] : needed)
      for (const std::string& name : names)
        EXPECT_EQ(repositories[node].count(name), 1u)
            << entry.path() << ": " << node << ", " << name;
  }
}

// A word that nothing reads is a setting that an administrator believes in.
TEST_F(SiteTest, EveryVariableOfAnExampleIsRead) {
  std::string readers = ReadFile("controller/validation/verdict/hardware_class.cc");
  for (const auto& [path, text] : site_) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      // A comment mentions a variable, and its default defines it.
      if (!RE2::FullMatch(re2::StringPiece(line.data(), line.size()), R"(\s*#.*|[a-z_]+: *[^{]*)"))
        absl::StrAppend(&readers, line, "\n");
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator("inventory/examples")) {
    UseCluster(entry.path().filename().string());
    std::vector<Variable> variables = inventory_.vars();
    for (const Group& group : inventory_.groups())
      variables.insert(variables.end(), group.vars.begin(), group.vars.end());
    for (const Node& node : inventory_.nodes())
      variables.insert(variables.end(), node.vars.begin(), node.vars.end());
    for (const Variable& variable : variables) {
      EXPECT_TRUE(RE2::PartialMatch(readers, absl::StrCat("\\b", variable.name, "\\b")))
          << variable.place.ToString() << ": nothing reads '" << variable.name << "'";
    }
    EXPECT_OK(CheckVariableNames(site_, inventory_, {}));
  }
}

// Without the packet filter, and without a driver.
TEST_F(SiteTest, AMisspelledVariableOfAShippedRoleIsRefused) {
  const auto inventory = ParseInventory(
      {{"cluster.yaml",
        "cluster: x\nnodes: {login1: {role: login, vars: {external_interfce: eth1}}}\n"
        "vars:\n  gpu_driver_sorce: debian\n"}});
  ASSERT_OK(inventory);
  EXPECT_THAT(CheckVariableNames(site_, *inventory, {}),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, testing::Said()));
}

}  // namespace
}  // namespace muster::controller
