#include "controller/timeline/timeline_watches.h"

#include <atomic>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "tests/unit/controller/timeline/timeline_fixture.h"

namespace muster::controller::timeline {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class TimelineWatchesTest : public TimelineFixture {
 protected:
  // All events that come until there are `count`, or ten seconds have passed.
  static std::vector<v1::TimelineEvent> Read(TimelineWatch& watch, size_t count) {
    std::vector<v1::TimelineEvent> events;
    for (int i = 0; i < 1000 && events.size() < count; ++i) {
      while (const auto event = watch.Next()) events.push_back(*event);
      if (events.size() < count) absl::SleepFor(absl::Milliseconds(10));
    }
    return events;
  }
  static std::vector<std::string> NodesOf(const std::vector<v1::TimelineEvent>& events) {
    std::vector<std::string> nodes;
    for (const v1::TimelineEvent& event : events) nodes.push_back(event.nodes());
    return nodes;
  }

  RealClock clock_;
};

TEST_F(TimelineWatchesTest, AWatchBeginsNowOrAtAPlace) {
  Act(1, "node.drain", "c001");
  Act(2, "node.drain", "c002");
  TimelineWatches watches(*store_, clock_);
  watches.Start();
  std::atomic<int> calls = 0;
  const auto now = watches.Watch({}, std::nullopt, [&] { ++calls; });
  ASSERT_OK(now);
  v1::TimelinePosition place;
  place.set_audit(1);
  const auto earlier = watches.Watch({}, place, [] {});
  ASSERT_OK(earlier);
  Act(3, "node.drain", "c003");
  Change(4, "c004", "gpu_lost", v1::CONDITION_STATUS_BAD);
  EXPECT_THAT(NodesOf(Read(**now, 2)), ElementsAre("c003", "c004"));
  EXPECT_GE(calls, 1);
  EXPECT_THAT(NodesOf(Read(**earlier, 3)), ElementsAre("c002", "c003", "c004"));
  EXPECT_FALSE((*now)->AtEnd());
}

// Each time at the place of the last event, with another controller over the same store.
TEST_F(TimelineWatchesTest, ARestartMakesNeitherGapsNorRepeats) {
  v1::TimelinePosition place;
  std::vector<std::string> seen;
  for (int round = 0; round < 4; ++round) {
    TimelineWatches watches(*store_, clock_);
    watches.Start();
    const auto watch = watches.Watch({}, place, [] {});
    ASSERT_OK(watch);
    for (int i = 0; i < 3; ++i) {
      Act(round * 10 + i, "node.drain", absl::StrCat("a", round, i));
      Change(round * 10 + i, absl::StrCat("h", round, i), "gpu_lost", v1::CONDITION_STATUS_BAD);
    }
    // Only some of them reach the watcher before the break.
    const std::vector<v1::TimelineEvent> events = Read(**watch, 6);
    for (size_t i = 0; i < 4 && i < events.size(); ++i) {
      seen.push_back(events[i].nodes());
      place = events[i].position();
    }
    watches.Stop();
    EXPECT_TRUE((*watch)->IsBroken());
  }
  TimelineWatches watches(*store_, clock_);
  watches.Start();
  const auto watch = watches.Watch({}, place, [] {});
  ASSERT_OK(watch);
  for (const v1::TimelineEvent& event : Read(**watch, 8)) seen.push_back(event.nodes());
  EXPECT_THAT(seen, SizeIs(24));
  EXPECT_THAT(std::set<std::string>(seen.begin(), seen.end()), SizeIs(24));
}

TEST_F(TimelineWatchesTest, ASlowReaderGetsEventsLate) {
  constexpr size_t kAll = TimelineWatches::kMaxWaiting + 300;
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    for (size_t i = 0; i < kAll; ++i)
      RETURN_IF_ERROR(Audit(txn, At(1), ControllerActor(), "node.drain", absl::StrCat("c", i)));
    return absl::OkStatus();
  }));
  TimelineWatches watches(*store_, clock_);
  watches.Start();
  const auto watch = watches.Watch({}, v1::TimelinePosition(), [] {});
  ASSERT_OK(watch);
  absl::SleepFor(2 * TimelineWatches::kLook);
  size_t at_once = 0;
  while ((*watch)->Next() != nullptr) ++at_once;
  EXPECT_LE(at_once, TimelineWatches::kMaxWaiting + kMaxEvents);
  EXPECT_THAT(Read(**watch, kAll - at_once), SizeIs(kAll - at_once));
}

// A store from a backup has fewer entries than a watcher has seen.
TEST_F(TimelineWatchesTest, APlaceThatTheStoreHasNotReachedIsItsEnd) {
  Act(1, "node.drain", "c001");
  TimelineWatches watches(*store_, clock_);
  watches.Start();
  v1::TimelinePosition place;
  place.set_audit(1000);
  place.set_health(1000);
  const auto watch = watches.Watch({}, place, [] {});
  ASSERT_OK(watch);
  Act(2, "node.drain", "c002");
  Change(3, "c003", "gpu_lost", v1::CONDITION_STATUS_BAD);
  EXPECT_THAT(NodesOf(Read(**watch, 2)), ElementsAre("c002", "c003"));
}

}  // namespace
}  // namespace muster::controller::timeline
