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

absl::StatusOr<std::string> NodeOf(const std::string& yaml) {
  return SlurmctldNode(ParseInventory({{"cluster.yaml", yaml}}).value());
}

constexpr char kNodes[] =
    "cluster: x\nnodes:\n  login1: {role: login}\n  login2: {role: login}\n"
    "  c001: {role: compute}\n";

TEST(SlurmctldNode, IsTheFirstLoginNodeUnlessTheInventorySaysOtherwise) {
  EXPECT_EQ(NodeOf(kNodes).value(), "login1");
  EXPECT_EQ(NodeOf(std::string(kNodes) + "vars: {slurm_controller: login2}\n").value(), "login2");
  EXPECT_EQ(NodeOf(std::string(kNodes) + "vars: {slurm_controller: login1}\n"
                                         "groups: {compute: {vars: {slurm_controller: login2}}}\n")
                .value(),
            "login2");
}

TEST(SlurmctldNode, IsNotGuessed) {
  EXPECT_THAT(NodeOf("cluster: x\nnodes:\n  c001: {role: compute}\n"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(NodeOf(std::string(kNodes) + "vars: {slurm_controller: head}\n"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::controller::slurm
