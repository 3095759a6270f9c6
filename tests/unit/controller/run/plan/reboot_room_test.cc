#include "controller/run/plan/reboot_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/inventory/inventory.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

const absl::Time kNow = absl::FromUnixSeconds(1'000'000);

Inventory Parse(const std::string& vars) {
  return ParseInventory({{"cluster.yaml",
                          "cluster: test\n"
                          "racks:\n"
                          "  r1: {switch: sw1, nodes: 'c[1-3]'}\n"
                          "  r2: {switch: sw1, nodes: 'c[4-6]'}\n"
                          "nodes: {'c[1-7]': {role: compute}}\n" +
                              vars}})
      .value();
}

absl::StatusOr<RebootLimits> LimitsOf(const std::string& vars, const std::string& node = "c1") {
  const Inventory inventory = Parse(vars);
  return RebootLimitsOf(inventory, *inventory.FindNode(node));
}

TEST(RebootRoomTest, ReadsTheVariablesOfANode) {
  const auto none = LimitsOf("");
  ASSERT_OK(none);
  EXPECT_EQ(none->per_rack, 0u);
  EXPECT_EQ(none->per_switch, 0u);
  EXPECT_EQ(none->gap, absl::ZeroDuration());
  const std::string vars =
      "vars: {reboots_per_rack: 2, reboots_per_switch: 4, reboot_gap: 1m30s}\n"
      "groups: {old: {nodes: c2, vars: {reboots_per_rack: 1}}}\n";
  const auto all = LimitsOf(vars);
  ASSERT_OK(all);
  EXPECT_EQ(all->per_rack, 2u);
  EXPECT_EQ(all->per_switch, 4u);
  EXPECT_EQ(all->gap, absl::Seconds(90));
  EXPECT_EQ(LimitsOf(vars, "c2")->per_rack, 1u);
}

TEST(RebootRoomTest, AValueThatIsNoneIsNamedWithItsPlace) {
  for (const char* vars : {"vars: {reboots_per_rack: two}\n", "vars: {reboots_per_switch: -1}\n",
                           "vars: {reboots_per_rack: 1.5}\n", "vars: {reboot_gap: 10}\n",
                           "vars: {reboot_gap: -10s}\n", "vars: {reboot_gap: 2h}\n"}) {
    EXPECT_THAT(LimitsOf(vars), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  }
}

TEST(RebootRoomTest, FindsPlacesInTheInventory) {
  const Inventory inventory = Parse("");
  EXPECT_EQ(RebootPlaceOf(inventory, "c4").rack, "r2");
  EXPECT_EQ(RebootPlaceOf(inventory, "c4").switch_name, "sw1");
  EXPECT_EQ(RebootPlaceOf(inventory, "c7").rack, "");
  EXPECT_EQ(RebootPlaceOf(inventory, "c9").rack, "");
}

TEST(RebootRoomTest, RacksAndSwitchesHaveTheirRoom) {
  const RebootPlace r1 = {"r1", "sw1"}, r2 = {"r2", "sw1"}, nowhere;
  const std::vector<OpenReboot> open = {{"c1", r1}, {"c2", r1}, {"c7", nowhere}};
  const absl::Time never = absl::InfinitePast();
  const auto why = [&](const RebootLimits& limits, const RebootPlace& place) {
    return WhyNoRoom(limits, place, open, never, kNow);
  };
  EXPECT_EQ(why({}, r1), "");
  EXPECT_EQ(why({.per_rack = 3}, r1), "");
  EXPECT_THAT(why({.per_rack = 2}, r1), Said());
  EXPECT_EQ(why({.per_rack = 2}, r2), "");
  EXPECT_EQ(why({.per_switch = 3}, r2), "");
  EXPECT_THAT(why({.per_switch = 2}, r2), Said());
  EXPECT_EQ(why({.per_rack = 1, .per_switch = 1}, nowhere), "") << "nothing is known of it";
}

TEST(RebootRoomTest, TimeHasToLieBetweenTwoInARack) {
  const RebootLimits limits = {.gap = absl::Seconds(10)};
  const auto why = [&](absl::Time last, const RebootPlace& place) {
    return WhyNoRoom(limits, place, {}, last, kNow);
  };
  EXPECT_THAT(why(kNow - absl::Seconds(4), {"r1", ""}), Said());
  EXPECT_EQ(why(kNow - absl::Seconds(10), {"r1", ""}), "");
  EXPECT_EQ(why(kNow - absl::Seconds(4), {"", ""}), "");
  EXPECT_EQ(why(absl::InfinitePast(), {"r1", ""}), "");
  EXPECT_EQ(why(kNow + absl::Hours(1), {"r1", ""}), "") << "the clock was set back";
}

}  // namespace
}  // namespace muster::controller
