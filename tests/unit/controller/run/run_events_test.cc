#include "controller/run/run_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

v1::RunEvent Event(const std::string& node, uint64_t sequence = 0) {
  v1::RunEvent event;
  event.set_node(node);
  event.set_sequence(sequence);
  return event;
}

std::vector<std::string> Drain(RunWatch& watch) {
  std::vector<std::string> nodes;
  while (RunEventPtr event = watch.Next()) nodes.push_back(event->node());
  return nodes;
}

TEST(RunEventLog, GivesEventsInOrderFromAnyPlace) {
  auto log = std::make_shared<RunEventLog>(10);
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

TEST(RunEventLog, SlowReaderLosesProgressOnly) {
  auto log = std::make_shared<RunEventLog>(0);
  auto watch = log->Watch(0, [] {});
  for (size_t i = 0; i < RunWatch::kMaxProgress + 10; ++i) log->Progress(Event("p"));
  log->Append(Event("a"));
  log->Progress(Event("overtakes"));
  const std::vector<std::string> seen = Drain(*watch);
  EXPECT_EQ(seen.size(), RunWatch::kMaxProgress + 1);
  EXPECT_EQ(seen.back(), "a");
  log->Progress(Event("now"));
  EXPECT_THAT(Drain(*watch), ::testing::ElementsAre("now"));
}

TEST(RunEventLog, KeepsABoundedNumber) {
  auto log = std::make_shared<RunEventLog>(0);
  for (size_t i = 0; i < RunEventLog::kMaxKept + 5; ++i) log->Append(Event("a"));
  auto watch = log->Watch(0, [] {});
  EXPECT_EQ(watch->Next()->sequence(), 6u);
}

TEST(RunEventLog, KeepsABoundedNumberOfBytes) {
  auto log = std::make_shared<RunEventLog>(0);
  v1::RunEvent event = Event("a");
  event.mutable_step()->set_output(std::string(1 << 20, 'x'));
  for (size_t i = 0; i < RunEventLog::kMaxKeptBytes / (1 << 20) + 5; ++i) log->Append(event);
  EXPECT_LE(log->bytes(), RunEventLog::kMaxKeptBytes);
  EXPECT_GT(log->bytes(), RunEventLog::kMaxKeptBytes / 2);
  EXPECT_GT(log->Watch(0, [] {})->Next()->sequence(), 5u);
}

TEST(RunEventLog, CancelledWatchIsNotCalled) {
  auto log = std::make_shared<RunEventLog>(0);
  int calls = 0;
  auto watch = log->Watch(0, [&] { ++calls; });
  watch->Cancel();
  log->Append(Event("a"));
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace muster::controller
