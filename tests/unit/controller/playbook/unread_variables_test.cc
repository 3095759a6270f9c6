#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

class UnreadVariablesTest : public ::testing::Test {
 protected:
  // With these variables for all nodes.
  absl::Status Check(const std::string& vars) {
    return CheckInventory(absl::StrCat("cluster: x\nnodes: {c1: {role: compute}}\nvars:\n", vars));
  }

  absl::Status CheckInventory(const std::string& text) {
    const auto inventory = ParseInventory({{"cluster.yaml", text}});
    EXPECT_OK(inventory);
    return inventory.ok() ? CheckVariableNames(site_, *inventory, extra_vars_) : inventory.status();
  }

  std::map<std::string, nlohmann::ordered_json> extra_vars_;
  FileTree site_ = {
      {"playbooks/site.yaml", "- {play: p, hosts: all, roles: [{role: nfs, when: nfs_enabled}]}\n"},
      {"playbooks/roles/nfs/defaults/main.yaml", "nfs_homes: /home\nshare: []\n"},
      {"playbooks/roles/nfs/tasks/main.yaml",
       "- {name: a, file: {path: /a, content: \"{{ nfs_options | default('') }}\"}}\n"},
      {"playbooks/roles/driver/defaults/main.yaml", "gpu_driver_source: \"\"\n"},
      {"playbooks/roles/driver/templates/a.j2", "{% if gpu_driver_scheme %}x{% endif %}\n"},
      {"playbooks/roles/driver/files/a.txt", "nfs_hoems\n"}};
};

TEST_F(UnreadVariablesTest, AMisspelledNameIsAnErrorAtItsPlace) {
  EXPECT_THAT(CheckInventory("cluster: x\n"
                             "nodes: {\"c[1-3]\": {role: compute, vars: {nfs_hoems: 1}}}\n"
                             "groups: {g: {nodes: c1, vars: {reboots_per_rak: 2}}}\n"
                             "vars:\n  gpu_driver_sorce: debian\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

// It would do nothing, silently, where the right one is set in the inventory, too.
TEST_F(UnreadVariablesTest, AMisspelledNameOfTheCommandLineIsAnError) {
  extra_vars_ = {{"nfs_hoems", "/srv"}, {"gpu_driver_sorce", "debian"}};
  EXPECT_THAT(Check("  nfs_homes: /home\n"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  extra_vars_ = {{"nfs_homes", "/srv"}, {"nfs_options", "ro"}, {"mark", 1}};
  EXPECT_OK(Check("  rack_row: 4\n"));
  extra_vars_ = {{"nfs_home", "/srv"}};
  EXPECT_OK(Check("  nfs_homes: [\"{{ nfs_home }}\"]\n")) << "the inventory reads it";
}

TEST_F(UnreadVariablesTest, WhatAnyFileOfTheSiteReadsIsKnown) {
  // Of a role that the playbook does not name, of a condition, of a template, without a default.
  EXPECT_OK(
      Check("  gpu_driver_source: x\n  gpu_driver_scheme: x\n  nfs_options: x\n"
            "  nfs_enabled: true\n"));
  site_["playbooks/roles/own/tasks/main.yaml"] = "- {name: \"{{ nfs_home }}\"}\n";
  EXPECT_OK(Check("  nfs_home: x\n"));
}

TEST_F(UnreadVariablesTest, WhatTheControllerReadsIsKnown) {
  EXPECT_OK(Check("  reboots_per_rack: 1\n  boot: disk\n  gpu_count: 4\n  stack: a\n"));
}

TEST_F(UnreadVariablesTest, WhatOtherVariablesReadIsKnown) {
  EXPECT_OK(Check("  nfs_home: /srv\n  nfs_homes: [\"{{ nfs_home }}\"]\n"));
  EXPECT_THAT(Check("  nfs_home: /srv\n  rack_row: [nfs_home]\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

TEST_F(UnreadVariablesTest, ASiteKeepsWhatItLikes) {
  EXPECT_OK(Check("  rack_row: 4\n  spare: true\n  purchased: 2024\n  gpu_driver_contact: x\n"));
}

// A folder has the role sssd and not the role login_access.
TEST_F(UnreadVariablesTest, ANameBesideTheOneThatItIsLikeIsNotMisspelled) {
  site_["playbooks/roles/sssd/defaults/main.yaml"] = "sssd_allowed_groups: []\n";
  EXPECT_OK(Check("  sssd_allowed_groups: [hpc]\n  ssh_allowed_groups: [hpc]\n"));
  EXPECT_OK(Check("  bmc_user: admin\n  bmc_users: [admin]\n"));
  EXPECT_THAT(CheckInventory("cluster: x\n"
                             "nodes:\n  c1: {role: compute, vars: {bmc_user: admin}}\n"
                             "  c2: {role: compute, vars: {bmc_usr: admin}}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("'bmc_usr'")))
      << "another node's does not make it right";
  EXPECT_THAT(
      Check("  ssh_allowed_groups: [hpc]\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("'sssd_allowed_groups'")));
}

// Whatever lies beside a playbook of its own, the name that was meant must be one that is read.
TEST_F(UnreadVariablesTest, ASiteWithoutRolesRefusesNothing) {
  site_ = {{"reboot.yaml", "- {play: p, hosts: all, tasks: []}\n"}};
  EXPECT_OK(Check("  reboots_per_rak: 1\n  gpu_driver_sorce: x\n"));
  site_["roles/own/tasks/main.yaml"] = "- {name: \"{{ gpu_driver_source }}\"}\n";
  EXPECT_OK(Check("  gpu_driver_sorce: x\n"));
}

TEST_F(UnreadVariablesTest, ThousandsOfVariablesOfASiteAreNotCompared) {
  std::string vars;
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&vars, "  site_value_", i, ": 1\n");
  EXPECT_OK(Check(vars));
}

}  // namespace
}  // namespace muster::controller
