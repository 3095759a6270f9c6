#include "controller/inventory/bmc_access.h"

#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "controller/inventory/inventory.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

constexpr char kPin[] = "aa00bb11cc22dd33ee44ff5566778899aa00bb11cc22dd33ee44ff5566778899";

absl::StatusOr<BmcAccess> AccessOf(const std::string& node, const std::string& group) {
  const auto inventory =
      ParseInventory({{"f", absl::StrCat("cluster: x\nnodes:\n  c1: {role: compute", node,
                                         "}\ngroups:\n  compute: {vars: {", group, "}}\n")}});
  if (!inventory.ok()) return inventory.status();
  return BmcAccessOf(*inventory, *inventory->FindNode("c1"));
}

TEST(BmcAccessTest, ANodeSaysMoreThanItsGroup) {
  const auto access = AccessOf(
      absl::StrCat(", bmc_address: 10.1.0.1, vars: {bmc_certificate: \"sha256:", kPin, "\"}"),
      "bmc_protocol: redfish, bmc_user: muster, bmc_password_secret: bmc.1, bmc_port: 8443, "
      "bmc_system: System.Embedded.1, bmc_cycle_after: 15m");
  ASSERT_OK(access);
  EXPECT_EQ(access->protocol, BmcProtocol::kRedfish);
  EXPECT_EQ(access->address, "10.1.0.1");
  EXPECT_EQ(access->port, 8443);
  EXPECT_EQ(access->user, "muster");
  EXPECT_EQ(access->password_secret, "bmc.1");
  EXPECT_EQ(access->certificate, kPin);
  EXPECT_EQ(access->system, "System.Embedded.1");
  EXPECT_TRUE(access->is_verified);
  EXPECT_EQ(access->cycle_after, absl::Minutes(15));
}

TEST(BmcAccessTest, PortsAndSuitesHaveDefaults) {
  const auto ipmi = AccessOf(", bmc_address: 10.1.0.1",
                             "bmc_protocol: ipmi, bmc_user: admin, bmc_password_secret: bmc");
  ASSERT_OK(ipmi);
  EXPECT_EQ(ipmi->port, 623);
  EXPECT_EQ(ipmi->cipher_suite, 17);
  const auto unverified =
      AccessOf(", bmc_address: 10.1.0.1",
               "bmc_protocol: redfish, bmc_user: a, bmc_password_secret: b, bmc_verify: none");
  ASSERT_OK(unverified);
  EXPECT_EQ(unverified->port, 443);
  EXPECT_FALSE(unverified->is_verified);
}

// As `openssl x509 -fingerprint -sha256` writes it.
TEST(BmcAccessTest, FingerprintsMayHaveColons) {
  std::string colons;
  for (size_t i = 0; i < 64; i += 2)
    absl::StrAppend(&colons, i == 0 ? "" : ":", std::string(kPin).substr(i, 2));
  EXPECT_EQ(CheckBmcVariable("bmc_certificate", absl::StrCat("sha256:", colons)), "");
}

TEST(BmcAccessTest, WhatIsMissingIsNamed) {
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(AccessOf("", "x: 1"), StatusIs(kRefused, Said()));
  EXPECT_THAT(AccessOf(", bmc_address: 10.1.0.1", "x: 1"), StatusIs(kRefused, Said()));
  EXPECT_THAT(AccessOf(", bmc_address: 10.1.0.1", "bmc_protocol: ipmi, bmc_user: a"),
              StatusIs(kRefused, Said()));
}

// With file, line and column, before anything is asked.
TEST(BmcAccessTest, AWrongValueIsAnErrorOfTheInventory) {
  for (const char* vars : {"bmc_protocol: ssh", "bmc_port: 0", "bmc_port: \"443\"",
                           "bmc_user: \"a b\"", "bmc_password_secret: \"hunter 2\"",
                           "bmc_password_secret: [a]", "bmc_certificate: sha256:aa", "bmc_ca: none",
                           "bmc_verify: false", "bmc_system: a/b", "bmc_cycle_after: 1m",
                           "bmc_cycle_after: 15", "bmc_cipher_suite: 0", "bmc_cipher_suite: \"3\""})
    EXPECT_THAT(AccessOf(", bmc_address: 10.1.0.1", vars),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller
