#include "agent/burnin/nic/link/link_identity.h"
#include "tests/fixtures/golden_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::burnin {
namespace {

using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const LinkIdentity kLink = {.name = "eth0",
                            .driver = "mlx5_core",
                            .firmware = "16.35.2000 (MT_0000000012)",
                            .neighbors = {"leaf1.example.org"}};

CheckResult Judge(const LinkIdentity& link, const IdentityExpectation& expectation) {
  CheckResult result;
  JudgeIdentity(link, expectation, result);
  return result;
}

TEST(LinkIdentityTest, WhatIsExpectedIsNoFault) {
  for (const IdentityExpectation& expectation :
       {IdentityExpectation{}, IdentityExpectation{.driver = "mlx5_core",
                               .firmware = {"16.34.1000", "16.35.2000"},
                               .neighbors = {"leaf2", "LEAF1"}}}) {
    const CheckResult result = Judge(kLink, expectation);
    EXPECT_THAT(result.faults, IsEmpty());
    EXPECT_EQ(result.outcome, Outcome::kPass);
  }
}

TEST(LinkIdentityTest, WhatIsNotAsExpectedIsAFaultOfThePort) {
  struct Case {
    const char* code;
    IdentityExpectation expectation;
    const char* message;
  };
  for (const Case& c : {
           Case{"wrong_driver", {.driver = "mlx4_core"}, "by mlx5_core, not mlx4_core"},
           Case{"wrong_firmware", {.firmware = {"16.35", "14.1"}}, "not 16.35 or 14.1"},
           Case{"wrong_neighbor",
                {.neighbors = {"leaf2", "leaf3"}},
                "is connected to leaf1.example.org, not to leaf2 or leaf3: check the cable"},
       }) {
    const CheckResult result = Judge(kLink, c.expectation);
    ASSERT_THAT(result.faults, SizeIs(1));
    EXPECT_EQ(result.faults[0].code, c.code);
    EXPECT_EQ(result.faults[0].subject, "eth0");
    EXPECT_THAT(result.faults[0].message, AllOf(Said(), HasSubstr(c.message)));
  }
}

TEST(LinkIdentityTest, WhatIsNotToldIsUnknownButANeighbor) {
  const LinkIdentity silent = {.name = "eth0"};
  for (const IdentityExpectation& expectation :
       {IdentityExpectation{.driver = "mlx5_core"}, IdentityExpectation{.firmware = {"16.35"}}}) {
    const CheckResult result = Judge(silent, expectation);
    EXPECT_THAT(result.faults, IsEmpty());
    EXPECT_EQ(result.outcome, Outcome::kUnknown);
  }
  EXPECT_EQ(Judge(silent, {.neighbors = {"leaf1"}}).outcome, Outcome::kPass);
}

// A machine behind the switch may speak LLDP too.
TEST(LinkIdentityTest, OneNeighborOfSeveralIsEnough) {
  LinkIdentity link = kLink;
  link.neighbors = {"phone", "leaf1"};
  EXPECT_THAT(Judge(link, {.neighbors = {"leaf1"}}).faults, IsEmpty());
  EXPECT_THAT(Judge(link, {.neighbors = {"leaf2"}}).faults, SizeIs(1));
}

TEST(LinkIdentityTest, NamesOfSystemsDifferInCaseAndDomainAlone) {
  EXPECT_TRUE(IsSameSystem("leaf1", "Leaf1"));
  EXPECT_TRUE(IsSameSystem("leaf1", "leaf1.example.org"));
  EXPECT_TRUE(IsSameSystem("Leaf1.Example.org", "leaf1"));
  EXPECT_TRUE(IsSameSystem("leaf1.example.org", "LEAF1.example.org"));
  EXPECT_FALSE(IsSameSystem("leaf1.a.org", "leaf1.b.org"));
  EXPECT_FALSE(IsSameSystem("leaf1", "leaf10"));
  EXPECT_FALSE(IsSameSystem("leaf1", "leaf10.example.org"));
}

TEST(LinkIdentityTest, FirmwareIsTheWholeTextOrItsFirstWord) {
  EXPECT_TRUE(IsFirmware("9.20 0x8000d95e 22.0.9", "9.20"));
  EXPECT_TRUE(IsFirmware("9.20 0x8000d95e 22.0.9", "9.20 0x8000d95e 22.0.9"));
  EXPECT_FALSE(IsFirmware("9.20 0x8000d95e 22.0.9", "9.2"));
  EXPECT_FALSE(IsFirmware("9.20 0x8000d95e 22.0.9", "9.20 0x8000d95e"));
}

}  // namespace
}  // namespace muster::burnin
