#include "controller/power/own_machine.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "controller/inventory/inventory.h"
#include "controller/store/tables.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::power {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kOwnBoot[] = "0f7e4d6c-1c5a-4c58-9d0c-2f1d6a4f3b11";

NodeRecord Joined(const std::string& name, const std::string& boot_id) {
  NodeRecord record;
  record.name = name;
  record.state = NodeRecord::kConfigured;
  record.boot_id = boot_id;
  return record;
}

class OwnMachineTest : public ::testing::Test {
 protected:
  absl::Status Check(const OwnMachine& own) {
    return CheckNotOwnMachine(own, inventory_, *Select(inventory_, "all"), joined_);
  }

  const Inventory inventory_ = *ParseInventory(
      {{"f",
        "cluster: x\nnodes:\n  login1: {role: login, address: 10.0.0.1}\n  c001: {role: "
        "compute}\n"}});
  std::vector<NodeRecord> joined_ = {Joined("login1", kOwnBoot), Joined("c001", "another")};
};

TEST_F(OwnMachineTest, IsToldByItsBoot) {
  EXPECT_THAT(Check({.boot_id = kOwnBoot, .names = {}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  // As systemd writes it.
  EXPECT_THAT(Check({.boot_id = "0f7e4d6c1c5a4c589d0c2f1d6a4f3b11", .names = {}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_OK(Check({.boot_id = "a-third", .names = {}}));
  // Another machine has the name now.
  joined_[0].state = NodeRecord::kRemoved;
  EXPECT_OK(Check({.boot_id = kOwnBoot, .names = {}}));
}

TEST_F(OwnMachineTest, IsToldByItsNamesWhereItsAgentHasNotReported) {
  joined_.clear();
  for (const char* name : {"login1", "10.0.0.1"})
    EXPECT_EQ(Check({.boot_id = kOwnBoot, .names = {name}}).code(),
              absl::StatusCode::kFailedPrecondition);
  EXPECT_OK(Check({.boot_id = kOwnBoot, .names = {"muster", "10.0.0.2"}}));
}

TEST_F(OwnMachineTest, IsToldByItsNamesHoweverTheyAreWritten) {
  EXPECT_THAT(OwnNames("Login1.Example.org", "[FD00::7]"),
              ElementsAre("fd00::7", "login1", "login1.example.org"));
  EXPECT_THAT(OwnNames("", "10.0.0.1"), ElementsAre("10.0.0.1"));
  const Inventory inventory = *ParseInventory(
      {{"f",
        "cluster: x\nnodes:\n  login1: {role: login}\n  c001: {role: compute, address: "
        "c001.example.org}\n  c002: {role: compute, address: \"fd00::7\"}\n"}});
  const auto own_of = [&](absl::string_view host_name, absl::string_view controller_host) {
    std::vector<std::string> names;
    for (const Node& node : inventory.nodes()) {
      if (IsOnOwnMachine({"", OwnNames(host_name, controller_host)}, inventory, node, ""))
        names.push_back(node.name);
    }
    return names;
  };
  EXPECT_THAT(own_of("Login1.example.org", ""), ElementsAre("login1"));
  EXPECT_THAT(own_of("C001.example.org", ""), ElementsAre("c001"));
  EXPECT_THAT(own_of("muster", "[FD00::7]"), ElementsAre("c002"));
  EXPECT_THAT(own_of("muster", "fd00::8"), IsEmpty());
}

// Root of a worker that knows the controller's boot would make it immune.
TEST_F(OwnMachineTest, ANodesWordCountsOnlyWhereNoNameTells) {
  joined_[1].boot_id = kOwnBoot;
  const OwnMachine named = {.boot_id = kOwnBoot, .names = {"login1"}};
  EXPECT_FALSE(IsOnOwnMachine(named, inventory_, *inventory_.FindNode("c001"), kOwnBoot));
  EXPECT_OK(CheckNotOwnMachine(named, inventory_, {inventory_.FindNode("c001")}, joined_));
  const OwnMachine unnamed = {.boot_id = kOwnBoot, .names = {"muster"}};
  EXPECT_TRUE(IsOnOwnMachine(unnamed, inventory_, *inventory_.FindNode("c001"), kOwnBoot));
}

TEST_F(OwnMachineTest, WhatIsNotKnownIsNobody) {
  for (NodeRecord& record : joined_) record.boot_id.clear();
  EXPECT_OK(Check({}));
}

}  // namespace
}  // namespace muster::controller::power
