// Backups of slurmctld.
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/playbooks/slurm_roles_fixture.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::Said;
using testing::StatusIs;

TEST_F(SlurmRolesTest, ABackupOfSlurmctldIsSetUpAsThePrimaryIs) {
  options_.extra_vars = nlohmann::ordered_json::parse(R"({
      "slurm_backup_controllers": "login2", "slurm_state_directory": "/state/slurmctld",
      "slurm_takeover_seconds": 30, "slurm_jwt": true,
      "data_mounts": [{"source": "nas:/state", "path": "/state"}]})");
  auto steps = Steps("slurm_controller");
  EXPECT_EQ(steps.size(), 2u);
  for (const char* node : {"login1", "login2"}) {
    SCOPED_TRACE(node);
    EXPECT_THAT(steps[node]["slurm.conf"].file().content(),
                AllOf(HasSubstr("\nSlurmctldHost=login1\nSlurmctldHost=login2\n"),
                      HasSubstr("\nStateSaveLocation=/state/slurmctld\n"),
                      HasSubstr("\nSlurmctldTimeout=30\n")));
    EXPECT_EQ(steps[node]["state folder"].directory().path(), "/state/slurmctld");
    EXPECT_THAT(steps[node]["slurmctld waits for its state"].file().content(),
                HasSubstr("\nExecStartPre=+/usr/local/lib/muster/wait-for-mounts "
                          "/state/slurmctld\nTimeoutStartSec=infinity\n"));
    EXPECT_TRUE(steps[node]["slurmctld runs"].unit().enabled());
  }
  EXPECT_TRUE(Steps("slurm_login").empty());
  EXPECT_EQ(Steps("slurm_jwt").size(), 2u);
  EXPECT_THAT(Steps("slurm_worker")["c001"]["where slurmd gets its configuration"].file().content(),
              HasSubstr("--conf-server login1:6817,login2:6817\""));
}

// The standby of a Slurm that takes nodes in by itself has to be told of them, too.
TEST_F(SlurmRolesTest, OnlyABackupOfSlurmctldIsRestartedAtEveryChange) {
  UseDebian("13");
  options_.extra_vars = nlohmann::ordered_json::parse(R"({
      "slurm_backup_controllers": ["login2"], "slurm_state_directory": "/state/slurmctld",
      "slurm_shared_folders": ["/state"]})");
  std::map<std::string, bool> restarted;
  absl::Status error;
  for (const v1::Plan& plan : Compile(&error))
    for (const v1::RolePlan& role : plan.roles())
      for (const v1::Step& handler : role.handlers())
        if (role.name() == "slurm_controller" && handler.name() == "restart slurmctld")
          restarted[plan.node_name()] = handler.skip_reason().empty();
  EXPECT_OK(error);
  EXPECT_THAT(restarted, ElementsAre(Pair("login1", false), Pair("login2", true)));
}

// Each of them would lead by itself.
TEST_F(SlurmRolesTest, NodesAgreeOnTheBackupsOfSlurmctld) {
  UseInventory(absl::StrCat(kTwoLoginNodes,
                            "groups: {login: {vars: {slurm_backup_controllers: [login2], "
                            "slurm_state_directory: /state/a, slurm_shared_folders: [/state]}}, "
                            "compute: {vars: {slurm_backup_controllers: []}}}\n"));
  absl::Status error;
  Compile(&error);
  EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller
