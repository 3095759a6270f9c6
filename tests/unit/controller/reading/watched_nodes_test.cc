#include "controller/reading/watched_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/proto_time.h"
#include "muster/v1/agent_session.pb.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_clock.h"

namespace muster::controller {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class WatchedNodesTest : public ::testing::Test {
 protected:
  WatchedNodesTest() {
    for (const char* uuid : {"a", "b"}) sessions_.Connect(uuid);
  }
  WatchedReadings Ask(const std::string& uuid, bool history = false) {
    const std::vector<std::string> uuids = {uuid};
    return readings_.Ask(uuids, history).at(0);
  }
  void Read(const std::string& uuid, uint64_t used) {
    v1::NodeReadings readings;
    readings.set_memory_used_bytes(used);
    readings_.OnReadings(uuid, readings);
  }
  static uint64_t Used(const WatchedReadings& row) {
    return row.newest.has_value() ? row.newest->readings->memory_used_bytes() : 0;
  }

  muster::testing::FakeClock clock_;
  muster::testing::FakeAgentSessions sessions_;
  WatchedNodes readings_{sessions_, clock_};
};

TEST_F(WatchedNodesTest, AsksTheNodesThatSomebodyAsksAbout) {
  EXPECT_FALSE(Ask("a").newest.has_value());
  const auto sent = sessions_.Take("a");
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(ToDuration(sent[0].watch_readings().interval()), absl::Seconds(2));
  EXPECT_EQ(ToDuration(sent[0].watch_readings().lease()), WatchedNodes::kLease);
  EXPECT_THAT(sessions_.Take("b"), IsEmpty());
  Read("a", 7);
  Read("b", 8);  // nobody asked
  EXPECT_EQ(Used(Ask("a")), 7);
  EXPECT_EQ(Used(Ask("b")), 0);
}

TEST_F(WatchedNodesTest, LeaseIsRenewedHalfWay) {
  for (int i = 0; i < 17; ++i) {
    Ask("a");
    clock_.Advance(absl::Seconds(2));
  }
  EXPECT_THAT(sessions_.Take("a"), SizeIs(3));
}

TEST_F(WatchedNodesTest, NodeIsForgottenWhenNobodyAsksAnyMore) {
  Ask("a");
  Read("a", 7);
  clock_.Advance(WatchedNodes::kPatience + absl::Seconds(1));
  Read("a", 8);
  EXPECT_FALSE(Ask("a").newest.has_value());
}

TEST_F(WatchedNodesTest, NodeThatComesBackIsAskedAgain) {
  Ask("a");
  Read("a", 7);
  sessions_.Take("a");
  readings_.OnDisconnected("a");
  sessions_.Cut("a");
  const WatchedReadings away = Ask("a");
  EXPECT_FALSE(away.is_connected);
  EXPECT_FALSE(away.newest.has_value()) << "old readings look like new ones";
  sessions_.Connect("a");
  readings_.OnConnected("a", {});
  EXPECT_TRUE(Ask("a").is_connected);
  EXPECT_THAT(sessions_.Take("a"), SizeIs(1));
}

TEST_F(WatchedNodesTest, NodeWhoseQueueIsFullIsAskedAgain) {
  sessions_.Clog("a", true);
  Ask("a");
  sessions_.Clog("a", false);
  Ask("a");
  EXPECT_THAT(sessions_.Take("a"), SizeIs(1));
}

TEST_F(WatchedNodesTest, HistoryIsKeptWhileSomebodyWantsIt) {
  Ask("a");
  for (uint64_t i = 1; i <= 3; ++i) {
    Read("a", i);
    clock_.Advance(absl::Seconds(2));
  }
  EXPECT_THAT(Ask("a", true).history, SizeIs(1)) << "only the newest was wanted so far";
  for (uint64_t i = 4; i <= 200; ++i) {
    Read("a", i);
    clock_.Advance(absl::Seconds(2));
    Ask("a", true);
  }
  const WatchedReadings row = Ask("a", true);
  ASSERT_THAT(row.history, SizeIs(WatchedNodes::kMaxHistory));
  EXPECT_EQ(row.history.back().readings->memory_used_bytes(), 200);
  EXPECT_LT(row.history.front().at, row.history.back().at);
  clock_.Advance(absl::Seconds(8));
  Ask("a");
  clock_.Advance(absl::Seconds(8));
  Read("a", 201);
  EXPECT_THAT(Ask("a", true).history, SizeIs(1));
}

TEST_F(WatchedNodesTest, NodeThatSendsTooFastIsNotHeard) {
  Ask("a", true);
  for (uint64_t i = 1; i <= 1000; ++i) Read("a", i);
  EXPECT_EQ(Used(Ask("a")), 1);
}

TEST_F(WatchedNodesTest, ReadingsOfManyNodesAreKeptUntilTheNextLook) {
  std::vector<std::string> all = {"a"};
  for (int i = 1; i < 10'000; ++i) all.push_back(std::to_string(i));
  for (int look = 0; look < 5; ++look) {
    const WatchedReadings row = readings_.Ask(all, false).at(0);
    EXPECT_EQ(Used(row), static_cast<uint64_t>(look)) << "of the look before";
    clock_.Advance(readings_.interval());
    Read("a", static_cast<uint64_t>(look) + 1);
  }
  const auto sent = sessions_.Take("a");
  ASSERT_THAT(sent, SizeIs(2));
  EXPECT_EQ(ToDuration(sent[0].watch_readings().interval()), absl::Seconds(20));
  EXPECT_EQ(ToDuration(sent[0].watch_readings().lease()), absl::Minutes(2));
}

TEST_F(WatchedNodesTest, ManyNodesMeasureRarely) {
  EXPECT_EQ(WatchedNodes::IntervalFor(1), absl::Seconds(2));
  EXPECT_EQ(WatchedNodes::IntervalFor(1'000), absl::Seconds(2));
  EXPECT_EQ(WatchedNodes::IntervalFor(10'000), absl::Seconds(20));
}

}  // namespace
}  // namespace muster::controller
