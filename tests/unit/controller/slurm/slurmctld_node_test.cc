#include "controller/slurm/slurmctld_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/inventory/inventory.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::slurm {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

absl::StatusOr<std::vector<std::string>> NodesOf(const std::string& yaml) {
  return SlurmctldNodes(ParseInventory({{"cluster.yaml", yaml}}).value());
}

constexpr char kNodes[] =
    "cluster: x\nnodes:\n  login1: {role: login}\n  login2: {role: login}\n"
    "  c001: {role: compute}\n";

TEST(SlurmctldNode, IsTheFirstLoginNodeUnlessTheInventorySaysOtherwise) {
  EXPECT_THAT(NodesOf(kNodes).value(), ElementsAre("login1"));
  EXPECT_THAT(NodesOf(std::string(kNodes) + "vars: {slurm_controller: login2}\n").value(),
              ElementsAre("login2"));
  EXPECT_THAT(
      NodesOf(std::string(kNodes) + "vars: {slurm_controller: login1}\n"
                                    "groups: {compute: {vars: {slurm_controller: login2}}}\n")
          .value(),
      ElementsAre("login2"));
}

TEST(SlurmctldNode, IsFollowedByItsBackups) {
  EXPECT_THAT(NodesOf(std::string(kNodes) + "vars: {slurm_backup_controllers: [login2]}\n").value(),
              ElementsAre("login1", "login2"));
  EXPECT_THAT(NodesOf(std::string(kNodes) +
                      "vars: {slurm_controller: login2, slurm_backup_controllers: login1}\n")
                  .value(),
              ElementsAre("login2", "login1"));
  EXPECT_THAT(NodesOf(std::string(kNodes) + "vars: {slurm_backup_controllers: []}\n").value(),
              ElementsAre("login1"));
}

TEST(SlurmctldNode, HasAPlaceOnALoginNodeOrWhereTheInventorySaysSo) {
  const auto has_place = [](const std::string& yaml) {
    return HasPlaceForSlurmctld(ParseInventory({{"cluster.yaml", yaml}}).value());
  };
  constexpr char kWorkers[] = "cluster: x\nnodes:\n  c001: {role: compute}\n";
  EXPECT_TRUE(has_place(kNodes));
  EXPECT_FALSE(has_place(kWorkers));
  EXPECT_TRUE(has_place(std::string(kWorkers) + "vars: {slurm_controller: c001}\n"));
  EXPECT_TRUE(has_place(std::string(kWorkers) + "vars: {slurm_controller: head}\n"))
      << "a name that is wrong is a place all the same";
}

TEST(SlurmctldNode, IsNotGuessed) {
  EXPECT_THAT(NodesOf("cluster: x\nnodes:\n  c001: {role: compute}\n"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(NodesOf(std::string(kNodes) + "vars: {slurm_controller: head}\n"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(NodesOf(std::string(kNodes) + "vars: {slurm_backup_controllers: [login2, head]}\n"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::controller::slurm
