#include "controller/power/power_targets.h"

#include <string>

#include <gmock/gmock.h>

#include "controller/inventory/inventory.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::power {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr char kInventory[] = R"(
cluster: x
racks:
  r1: {power_limit_watts: 5000, nodes: "c[1-3]"}
  r2: {nodes: "d1"}
nodes:
  "c[1-3]": {role: compute, bmc_address: "10.1.0.[1-3]", vars: {node_power_watts: 1500}}
  d1: {role: compute, bmc_address: 10.1.0.9, vars: {bmc_protocol: ipmi, reboot_gap: 5s}}
  e1: {role: compute}
  e2: {role: compute, bmc_address: 10.1.0.10, vars: {reboot_gap: soon}}
groups:
  compute: {vars: {bmc_protocol: redfish, bmc_user: muster, bmc_password_secret: bmc}}
)";

TEST(PowerTargetsTest, HaveTheirRackAndTheirBmc) {
  const auto inventory = ParseInventory({{"f", kInventory}});
  ASSERT_OK(inventory);
  const auto targets = TargetsOf(*inventory, *Select(*inventory, "all"),
                                 [](const std::string& node) { return node == "c2"; });
  ASSERT_EQ(targets.size(), 6u);
  const PowerTarget& c1 = targets[0];
  EXPECT_EQ(c1.node, "c1");
  ASSERT_OK(c1.access);
  EXPECT_EQ(c1.access->address, "10.1.0.1");
  EXPECT_EQ(c1.access->port, 443);
  EXPECT_EQ(c1.need.rack, "r1");
  EXPECT_EQ(c1.need.limit_watts, 5000);
  EXPECT_EQ(c1.need.start_watts, 1500);
  EXPECT_EQ(c1.need.gap, kLeastGap);
  ASSERT_NE(c1.need.others, nullptr);
  EXPECT_THAT(*c1.need.others, ElementsAre(Pair("c2", 250))) << "what is not up draws nothing";
  const PowerTarget& d1 = targets[3];
  ASSERT_OK(d1.access);
  EXPECT_EQ(d1.access->protocol, BmcProtocol::kIpmi);
  EXPECT_EQ(d1.access->port, 623);
  EXPECT_EQ(d1.need.limit_watts, 0);
  EXPECT_EQ(d1.need.gap, absl::Seconds(5));
  EXPECT_THAT(targets[4].access, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(targets[5].access, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::controller::power
