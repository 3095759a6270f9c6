#include "controller/inventory/self_join.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "controller/inventory/inventory.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

TEST(SelfJoinTest, NodesComeAfterGroupsAndAll) {
  const std::string key(64, 'a');
  const auto inventory = ParseInventory({{"f", absl::StrCat(R"(
cluster: x
nodes:
  login1: {role: login, vars: {boot_join: no}}
  c1: {role: compute, vars: {boot_join: tpm, boot_tpm: )",
                                                            key, R"(}}
  c2: {role: compute}
vars: {boot_join: approve}
)")}});
  ASSERT_OK(inventory);
  EXPECT_EQ(SelfJoinOf(*inventory, *inventory->FindNode("login1")).mode, SelfJoin::Mode::kNo);
  EXPECT_EQ(SelfJoinOf(*inventory, *inventory->FindNode("c2")).mode, SelfJoin::Mode::kApprove);
  EXPECT_EQ(SelfJoinOf(*inventory, *inventory->FindNode("c2")).endorsement_key, "");
  const SelfJoin one = SelfJoinOf(*inventory, *inventory->FindNode("c1"));
  EXPECT_EQ(one.mode, SelfJoin::Mode::kTpm);
  EXPECT_EQ(one.endorsement_key, key);
}

TEST(SelfJoinTest, NobodyJoinsAloneWhereNothingIsSaid) {
  const auto inventory =
      ParseInventory({{"f", "cluster: x\nnodes: {c1: {role: compute, mac: '00:00:00:00:00:0a'}}"}});
  ASSERT_OK(inventory);
  EXPECT_EQ(SelfJoinOf(*inventory, *inventory->FindNode("c1")).mode, SelfJoin::Mode::kNo);
}

TEST(SelfJoinTest, NetworksAreTrustedWhereSomethingSaysSo) {
  const auto inventory = ParseInventory({{"f", R"(
cluster: x
nodes:
  c1: {role: compute, vars: {boot_trusted_networks: [10.2.0.0/16, 10.1.0.0/24]}}
  c2: {role: compute}
groups: {storage: {vars: {boot_trusted_networks: []}}}
vars: {boot_trusted_networks: [10.1.0.0/24]}
)"}});
  ASSERT_OK(inventory);
  EXPECT_THAT(SelfJoinOf(*inventory, *inventory->FindNode("c1")).trusted_networks,
              ElementsAre("10.2.0.0/16", "10.1.0.0/24"));
  EXPECT_THAT(SelfJoinOf(*inventory, *inventory->FindNode("c2")).trusted_networks,
              ElementsAre("10.1.0.0/24"));
  EXPECT_THAT(TrustedNetworksOf(*inventory), ElementsAre("10.1.0.0/24", "10.2.0.0/16"));
}

TEST(SelfJoinTest, OtherValuesAreErrorsOfTheInventory) {
  for (const char* vars :
       {"boot_join: always", "boot_join: 1", "boot_tpm: abc",
        "boot_tpm: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "boot_trusted_networks: 10.0.0.0/24", "boot_trusted_networks: [10]",
        "boot_trusted_networks: [10.0.0.1/24]", "boot_trusted_networks: [0.0.0.0/0]",
        "boot_trusted_networks: ['fd00::/64']"})
    EXPECT_THAT(ParseInventory({{"f", absl::StrCat("cluster: x\nnodes: {c1: {role: compute}}\n",
                                                   "vars: {", vars, "}\n")}}),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << vars;
}

}  // namespace
}  // namespace muster::controller
