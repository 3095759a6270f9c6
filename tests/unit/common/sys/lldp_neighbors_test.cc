#include "common/sys/lldp_neighbors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::sys {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LldpTest, ReadsTheFormThatIsAlwaysLists) {
  const auto neighbors = ParseLldpNeighbors(R"({"lldp": [{"interface": [
      {"name": "eth0", "via": "LLDP", "rid": "1",
       "chassis": [{"id": [{"type": "mac", "value": "00:11:22:33:44:55"}],
                    "name": [{"value": "leaf1"}], "descr": [{"value": "switch"}]}],
       "port": [{"id": [{"type": "ifname", "value": "Ethernet4"}],
                 "descr": [{"value": "to c001"}]}]},
      {"name": "eth1",
       "chassis": [{"id": [{"type": "mac", "value": "00:11:22:33:44:66"}]}],
       "port": [{"descr": [{"value": "port 7"}]}]}]}]})");
  ASSERT_TRUE(neighbors.ok()) << neighbors.status();
  ASSERT_EQ(neighbors->size(), 2u);
  EXPECT_EQ(neighbors->at("eth0").system, "leaf1");
  EXPECT_EQ(neighbors->at("eth0").port, "Ethernet4");
  EXPECT_THAT(neighbors->at("eth0").names, ElementsAre("leaf1"));
  EXPECT_EQ(neighbors->at("eth1").system, "00:11:22:33:44:66") << "for want of a name";
  EXPECT_THAT(neighbors->at("eth1").names, IsEmpty());
  EXPECT_EQ(neighbors->at("eth1").port, "port 7");
}

TEST(LldpTest, ReadsTheFormWhoseKeysAreNames) {
  const auto neighbors = ParseLldpNeighbors(R"({"lldp": {"interface": {"eth0": {
      "via": "LLDP", "chassis": {"leaf1": {"id": {"type": "mac", "value": "00:11:22:33:44:55"}}},
      "port": {"id": {"type": "ifname", "value": "Ethernet4"}, "ttl": "120"}}}}})");
  ASSERT_TRUE(neighbors.ok()) << neighbors.status();
  ASSERT_EQ(neighbors->size(), 1u);
  EXPECT_EQ(neighbors->at("eth0").system, "leaf1");
  EXPECT_EQ(neighbors->at("eth0").port, "Ethernet4");
}

TEST(LldpTest, KnowsAllWhoAreOnOneInterface) {
  const auto neighbors = ParseLldpNeighbors(R"({"lldp": [{"interface": [
      {"name": "eth0", "chassis": [{"name": [{"value": "phone"}]}]},
      {"name": "eth0", "chassis": [{"id": [{"type": "mac", "value": "00:11:22:33:44:66"}]}]},
      {"name": "eth0", "chassis": [{"name": [{"value": "leaf1"}]}]}]}]})");
  ASSERT_TRUE(neighbors.ok()) << neighbors.status();
  EXPECT_EQ(neighbors->at("eth0").system, "phone");
  EXPECT_THAT(neighbors->at("eth0").names, ElementsAre("phone", "leaf1"));
}

// As lldpd 1.0.16 reports another lldpd: its id of a port is an address.
TEST(LldpTest, APortIsCalledByWhatStandsOnItsLabel) {
  const auto neighbors = ParseLldpNeighbors(
      R"({"lldp": [{"interface": [{"name": "eth7", "via": "LLDP", "rid": "1", "age": "0 day, 00:00:06",
      "chassis": [{"id": [{"type": "mac", "value": "06:6d:94:81:f1:51"}],
                   "name": [{"value": "leaf2"}],
                   "capability": [{"type": "Bridge", "enabled": true}]}],
      "port": [{"id": [{"type": "mac", "value": "06:6d:94:81:f1:51"}],
                "descr": [{"value": "eth8"}], "ttl": [{"value": "120"}]}]}]}]})");
  ASSERT_TRUE(neighbors.ok()) << neighbors.status();
  EXPECT_EQ(neighbors->at("eth7").system, "leaf2");
  EXPECT_EQ(neighbors->at("eth7").port, "eth8");
}

TEST(LldpTest, WhatIsNotUnderstoodIsLeftOut) {
  EXPECT_TRUE(absl::IsInvalidArgument(ParseLldpNeighbors("not running").status()));
  for (const char* json : {"{}", "[]", "1", R"({"lldp": {}})", R"({"lldp": []})",
                           R"({"lldp": [{"interface": [7, null, "x", {"name": []}]}]})",
                           R"({"lldp": {"interface": {"eth0": {"chassis": []}}}})"}) {
    const auto neighbors = ParseLldpNeighbors(json);
    ASSERT_TRUE(neighbors.ok()) << json;
    EXPECT_TRUE(neighbors->empty()) << json;
  }
  // A neighbor may call itself anything.
  const auto odd = ParseLldpNeighbors(
      R"({"lldp": [{"interface": [{"name": "eth0", "chassis": [{"name": [{"value": "a\u001b[2Jb"}]}]}]}]})");
  EXPECT_EQ(odd->at("eth0").system, "a?[2Jb");
}

}  // namespace
}  // namespace muster::sys
