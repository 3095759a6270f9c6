#include "controller/feed/event_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

constexpr FeedRetention kForLater = {
    .max_events = 1000, .max_bytes = 8 << 20, .is_for_later = true, .max_passing = 64};
constexpr FeedRetention kLive = {.max_events = 10, .max_passing = 4};

v1::RunEvent Event(const std::string& node, uint64_t sequence = 0) {
  v1::RunEvent event;
  event.set_node(node);
  event.set_sequence(sequence);
  return event;
}

std::vector<std::string> Drain(EventWatch<v1::RunEvent>& watch) {
  std::vector<std::string> nodes;
  while (const auto event = watch.Next()) nodes.push_back(event->node());
  return nodes;
}

TEST(EventFeed, GivesEventsInOrderFromAnyPlace) {
  auto log = std::make_shared<EventFeed<v1::RunEvent>>(kForLater, 10);
  int calls = 0;
  auto all = log->Watch(0, [&] { ++calls; });
  log->Append(Event("a"));
  const uint64_t reserved = log->ReserveSequence();
  log->Append(Event("c"));
  log->Append(Event("b", reserved));
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(Drain(*all), ::testing::ElementsAre("a", "b", "c"));
  auto later = log->Watch(11, [] {});
  EXPECT_THAT(Drain(*later), ::testing::ElementsAre("b", "c"));
  EXPECT_FALSE(later->AtEnd());
  log->End();
  EXPECT_TRUE(later->AtEnd());
  EXPECT_TRUE(log->Watch(99, [] {})->AtEnd());
  EXPECT_FALSE(log->Watch(0, [] {})->AtEnd());
}

TEST(EventFeed, AWatcherOfChangesIsNotCalledForTheRest) {
  auto log = std::make_shared<EventFeed<v1::RunEvent>>(kForLater);
  int calls = 0;
  auto watch = log->Watch(
      0, [&] { ++calls; }, FeedPart::kChanges);
  const auto append = [&](const std::string& node, v1::StepStatus status) {
    v1::RunEvent event = Event(node);
    event.mutable_step()->set_status(status);
    log->Append(std::move(event));
  };
  append("unchanged", v1::STEP_STATUS_OK);
  append("changed", v1::STEP_STATUS_CHANGED);
  append("left out", v1::STEP_STATUS_SKIPPED);
  append("failed", v1::STEP_STATUS_FAILED);
  log->Append(Event("of no step"));
  append("unchanged", v1::STEP_STATUS_OK);
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(Drain(*watch), ::testing::ElementsAre("changed", "failed", "of no step"));
  append("unchanged", v1::STEP_STATUS_OK);
  log->Pass(Event("passing"));
  EXPECT_THAT(Drain(*watch), ::testing::ElementsAre("passing")) << "it has read all that it wants";
  append("changed", v1::STEP_STATUS_CHANGED);
  append("unchanged", v1::STEP_STATUS_OK);
  log->Pass(Event("overtakes"));
  EXPECT_THAT(Drain(*watch), ::testing::ElementsAre("changed"));
  log->End();
  EXPECT_TRUE(watch->AtEnd());
  EXPECT_EQ(Drain(*log->Watch(0, [] {})).size(), 9u);
}

TEST(EventFeed, SerializedEventsAreLikeOthers) {
  auto log = std::make_shared<EventFeed<v1::RunEvent>>(kForLater);
  int of_all = 0, of_changes = 0;
  auto all = log->Watch(0, [&] { ++of_all; });
  auto changes = log->Watch(
      0, [&] { ++of_changes; }, FeedPart::kChanges);
  const uint64_t first = log->ReserveSequence();
  const uint64_t second = log->ReserveSequence();
  log->AppendSerialized(second, /*is_change=*/true, Event("changed", second).SerializeAsString());
  log->AppendSerialized(first, /*is_change=*/false, Event("same", first).SerializeAsString());
  log->Append(Event("later"));
  EXPECT_EQ(of_all, 3);
  EXPECT_EQ(of_changes, 2);
  EXPECT_THAT(Drain(*all), ::testing::ElementsAre("same", "changed", "later"));
  EXPECT_THAT(Drain(*changes), ::testing::ElementsAre("changed", "later"));
}

// The watcher is called without the lock of the feed, once for each event.
TEST(EventFeed, AWatcherReadsAndLeavesWhileItIsCalled) {
  auto log = std::make_shared<EventFeed<v1::RunEvent>>(kForLater);
  std::vector<std::string> seen;
  std::shared_ptr<EventWatch<v1::RunEvent>> watch;
  watch = log->Watch(0, [&] {
    for (const std::string& node : Drain(*watch)) seen.push_back(node);
    if (watch->AtEnd()) watch.reset();
  });
  log->Append(Event("a"));
  log->AppendSerialized(log->ReserveSequence(), true, Event("b").SerializeAsString());
  log->Pass(Event("passing"));
  log->End();
  EXPECT_EQ(watch, nullptr);
  EXPECT_THAT(seen, ::testing::ElementsAre("a", "b", "passing"));
}

TEST(EventFeed, SlowReaderLosesPassingEventsOnly) {
  auto log = std::make_shared<EventFeed<v1::RunEvent>>(kForLater);
  auto watch = log->Watch(0, [] {});
  for (size_t i = 0; i < kForLater.max_passing + 10; ++i) log->Pass(Event("p"));
  log->Append(Event("a"));
  log->Pass(Event("overtakes"));
  const std::vector<std::string> seen = Drain(*watch);
  EXPECT_EQ(seen.size(), kForLater.max_passing + 1);
  EXPECT_EQ(seen.back(), "a");
  log->Pass(Event("now"));
  EXPECT_THAT(Drain(*watch), ::testing::ElementsAre("now"));
}

TEST(EventFeed, KeepsABoundedNumber) {
  auto log = std::make_shared<EventFeed<v1::RunEvent>>(kForLater);
  for (size_t i = 0; i < kForLater.max_events + 5; ++i) log->Append(Event("a"));
  auto watch = log->Watch(0, [] {});
  EXPECT_EQ(watch->Next()->sequence(), 6u);
}

TEST(EventFeed, KeepsABoundedNumberOfBytes) {
  auto log = std::make_shared<EventFeed<v1::RunEvent>>(kForLater);
  v1::RunEvent event = Event("a");
  event.mutable_step()->set_output(std::string(1 << 20, 'x'));
  for (size_t i = 0; i < kForLater.max_bytes / (1 << 20) + 5; ++i) log->Append(event);
  EXPECT_LE(log->bytes(), kForLater.max_bytes);
  EXPECT_GT(log->bytes(), kForLater.max_bytes / 2);
  EXPECT_GT(log->Watch(0, [] {})->Next()->sequence(), 5u);
}

TEST(EventFeed, CancelledWatchIsNotCalled) {
  auto log = std::make_shared<EventFeed<v1::RunEvent>>(kForLater);
  int calls = 0;
  auto watch = log->Watch(0, [&] { ++calls; });
  watch->Cancel();
  log->Append(Event("a"));
  EXPECT_EQ(calls, 0);
}

TEST(EventFeed, ALiveOneKeepsWhatWatchersHaveNotRead) {
  auto feed = std::make_shared<EventFeed<v1::RunEvent>>(kLive);
  for (const char* node : {"a", "b", "c"}) feed->Append(Event(node));
  EXPECT_EQ(feed->size(), 1u) << "nobody watches";
  auto first = feed->WatchFromNow([] {});
  feed->Append(Event("d"));
  auto second = feed->WatchFromNow([] {});
  feed->Append(Event("e"));
  EXPECT_THAT(Drain(*second), ::testing::ElementsAre("e"));
  EXPECT_EQ(feed->size(), 2u) << "the first has read nothing yet";
  EXPECT_THAT(Drain(*first), ::testing::ElementsAre("d", "e"));
  EXPECT_EQ(feed->size(), 1u);
}

TEST(EventFeed, ALiveOneSendsAwayWhoFallsBehindAndNobodyElse) {
  auto feed = std::make_shared<EventFeed<v1::RunEvent>>(kLive);
  auto slow = feed->WatchFromNow([] {});
  auto quick = feed->WatchFromNow([] {});
  for (size_t i = 0; i < kLive.max_events; ++i) {
    feed->Append(Event("a"));
    Drain(*quick);
  }
  EXPECT_FALSE(slow->IsBroken());
  feed->Append(Event("one too many"));
  EXPECT_TRUE(slow->IsBroken());
  EXPECT_FALSE(quick->IsBroken());
  EXPECT_FALSE(feed->WatchFromNow([] {})->IsBroken());
}

TEST(EventFeed, ALiveOneTellsItsEndToLateWatchers) {
  auto feed = std::make_shared<EventFeed<v1::RunEvent>>(kLive);
  for (const char* node : {"a", "end"}) feed->Append(Event(node));
  feed->End();
  for (int i = 0; i < 2; ++i) {
    auto late = feed->WatchFromNow([] {});
    EXPECT_FALSE(late->AtEnd());
    EXPECT_THAT(Drain(*late), ::testing::ElementsAre("end"));
    EXPECT_TRUE(late->AtEnd());
  }
  auto empty = std::make_shared<EventFeed<v1::RunEvent>>(kLive);
  empty->End();
  EXPECT_TRUE(empty->WatchFromNow([] {})->AtEnd());
}

TEST(EventFeed, ABrokenOneSendsAllAway) {
  auto feed = std::make_shared<EventFeed<v1::RunEvent>>(kLive);
  auto watch = feed->WatchFromNow([] {});
  EXPECT_FALSE(watch->IsBroken());
  feed->Break();
  EXPECT_TRUE(watch->IsBroken());
}

}  // namespace
}  // namespace muster::controller
