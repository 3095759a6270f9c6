#include "controller/boot/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/inventory/inventory.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::boot {
namespace {

Inventory Parsed(const std::string& nodes, const std::string& more = "") {
  return ParseInventory({{"c.yaml", "cluster: test\nnodes:\n" + nodes + more}}).value();
}

BootOrderRecord Order(const std::string& choice, bool once) {
  return {.node = "c1", .order_id = "o-1", .choice = choice, .once = once};
}

Decision Decided(const Inventory& inventory, const BootOrderRecord* order = nullptr) {
  return Decide(inventory, *inventory.FindNode("c1"), order);
}

TEST(BootDecisionTest, TheDiskWhereNobodySaysAnything) {
  const Decision decision = Decided(Parsed("  c1: {role: compute}\n"));
  EXPECT_EQ(decision.image, "");
  EXPECT_EQ(decision.choice.ToString(), "disk");
  EXPECT_EQ(decision.source, Decision::Source::kNothing);
  EXPECT_EQ(WhatUsesUp(decision, false), UsedUpBy::kNever);
}

TEST(BootDecisionTest, TheInventoryByItsLevels) {
  const std::string groups = "groups:\n  compute: {vars: {boot: worker}}\n";
  const Decision of_group = Decided(Parsed("  c1: {role: compute}\n", groups));
  EXPECT_EQ(of_group.image, "worker");
  EXPECT_EQ(of_group.source, Decision::Source::kInventory);
  EXPECT_FALSE(of_group.once);
  EXPECT_EQ(WhatUsesUp(of_group, false), UsedUpBy::kNever);
  EXPECT_EQ(Decided(Parsed("  c1: {role: compute, vars: {boot: disk}}\n", groups)).image, "");
  EXPECT_EQ(Decided(Parsed("  c1: {role: compute, vars: {boot: worker@1a2b3c4d}}\n", groups)).image,
            "worker@1a2b3c4d");
}

TEST(BootDecisionTest, RescueIsTheImageThatTheInventoryNames) {
  EXPECT_EQ(Decided(Parsed("  c1: {role: compute, vars: {boot: rescue}}\n")).image,
            "debian-rescue");
  const Decision decision =
      Decided(Parsed("  c1: {role: compute, vars: {boot: rescue, boot_rescue_image: mine}}\n"));
  EXPECT_EQ(decision.image, "mine");
  EXPECT_EQ(decision.choice.ToString(), "rescue");
}

TEST(BootDecisionTest, AnOrderCountsBeforeTheInventory) {
  const Inventory inventory = Parsed("  c1: {role: compute, vars: {boot: worker}}\n");
  const BootOrderRecord disk_once = Order("disk", true);
  const Decision disk = Decided(inventory, &disk_once);
  EXPECT_EQ(disk.image, "");
  EXPECT_EQ(disk.source, Decision::Source::kOrder);
  EXPECT_EQ(disk.order_id, "o-1");
  EXPECT_EQ(WhatUsesUp(disk, false), UsedUpBy::kScript);
  const BootOrderRecord rescue_once = Order("rescue", true);
  EXPECT_EQ(WhatUsesUp(Decided(inventory, &rescue_once), false), UsedUpBy::kRoot);
  const BootOrderRecord always = Order("other", false);
  EXPECT_EQ(Decided(inventory, &always).image, "other");
  EXPECT_EQ(WhatUsesUp(Decided(inventory, &always), false), UsedUpBy::kNever);
}

// Otherwise a machine whose firmware boots from the network would be installed again and again.
TEST(BootDecisionTest, AnOrderThatWritesADiskIsUsedUpWhenItIsWritten) {
  const Inventory inventory = Parsed("  c1: {role: compute, vars: {boot: worker}}\n");
  for (const bool once : {false, true}) {
    const BootOrderRecord order = Order("other", once);
    EXPECT_EQ(WhatUsesUp(Decided(inventory, &order), true), UsedUpBy::kWritten);
  }
  EXPECT_EQ(WhatUsesUp(Decided(inventory), true), UsedUpBy::kNever);
}

TEST(BootDecisionTest, AnOrderThatCannotBeReadIsNone) {
  const BootOrderRecord damaged = Order("../x", true);
  EXPECT_EQ(Decided(Parsed("  c1: {role: compute, vars: {boot: worker}}\n"), &damaged).image,
            "worker");
}

}  // namespace
}  // namespace muster::controller::boot
