#include "controller/session/fleet_pace.h"

#include <gtest/gtest.h>

namespace muster::controller {
namespace {

TEST(FleetPace, MoreNodesSendHeartbeatsLessOften) {
  EXPECT_EQ(HeartbeatInterval(0), absl::Seconds(5));
  EXPECT_EQ(HeartbeatInterval(5000), absl::Seconds(5));
  EXPECT_EQ(HeartbeatInterval(10000), absl::Seconds(10));
}

TEST(FleetPace, ADeadNodeIsNoticedAfterTwoHeartbeats) {
  EXPECT_EQ(MaxSilence(6), absl::Seconds(13));
  EXPECT_EQ(MaxSilence(10000), absl::Seconds(23));
}

TEST(FleetPace, ReconnectionsOfManyNodesAreSpread) {
  EXPECT_EQ(ReconnectSpread(50), absl::Milliseconds(250));
  EXPECT_EQ(ReconnectSpread(10000), absl::Seconds(50));
}

}  // namespace
}  // namespace muster::controller
