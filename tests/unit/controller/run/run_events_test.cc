// The feeds of runs that have ended.
#include "controller/run/run_events.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

const absl::Time kEventsNow = absl::FromUnixSeconds(1'900'000'000);

// A run of so many events that has ended.
void AddEnded(RunFeeds& feeds, const std::string& run_id, absl::Time at, size_t events = 1) {
  auto feed = std::make_shared<RunFeed>(kRunRetention);
  for (size_t i = 0; i < events; ++i) feed->Append(v1::RunEvent());
  feed->End();
  feeds.Add(run_id, feed);
  feeds.End(run_id, at);
}

// It may have 64 MiB of events, and no other run may ever follow.
TEST(RunFeeds, EvenTheLastOneGoesAfterAWhile) {
  RunFeeds feeds;
  feeds.Add("r-active", std::make_shared<RunFeed>(kRunRetention));
  AddEnded(feeds, "r-1", kEventsNow);
  AddEnded(feeds, "r-2", kEventsNow + absl::Minutes(1));
  const std::shared_ptr<RunWatch> watch = feeds.Find("r-2")->Watch(0, [] {});
  feeds.Forget(kEventsNow + RunFeeds::kKeepEnded - absl::Seconds(1));
  EXPECT_NE(feeds.Find("r-1"), nullptr);
  feeds.Forget(kEventsNow + RunFeeds::kKeepEnded);
  EXPECT_EQ(feeds.Find("r-1"), nullptr);
  EXPECT_NE(feeds.Find("r-2"), nullptr);
  feeds.Forget(kEventsNow + absl::Hours(1));
  EXPECT_EQ(feeds.Find("r-2"), nullptr);
  EXPECT_NE(feeds.Find("r-active"), nullptr);
  EXPECT_NE(watch->Next(), nullptr) << "who watches reads on";
  EXPECT_TRUE(watch->AtEnd());
}

TEST(RunFeeds, LaterOnesTakeThePlace) {
  RunFeeds feeds;
  for (size_t i = 0; i <= RunFeeds::kMaxEnded; ++i)
    AddEnded(feeds, absl::StrCat("r-", i), kEventsNow);
  EXPECT_EQ(feeds.Find("r-0"), nullptr);
  EXPECT_NE(feeds.Find("r-1"), nullptr);
  AddEnded(feeds, "r-long", kEventsNow, RunFeeds::kMaxEndedEvents + 1);
  EXPECT_EQ(feeds.Find(absl::StrCat("r-", RunFeeds::kMaxEnded)), nullptr);
  EXPECT_NE(feeds.Find("r-long"), nullptr) << "the last one stays, however long it was";
}

}  // namespace
}  // namespace muster::controller
