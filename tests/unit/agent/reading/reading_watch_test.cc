#include "agent/reading/reading_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "tests/fakes/fake_clock.h"

namespace muster::agent {
namespace {

class ReadingWatchTest : public ::testing::Test {
 protected:
  ReadingWatchTest() { watch_.Start(); }
  void Ask(absl::Duration interval, absl::Duration lease) {
    v1::WatchReadings request;
    *request.mutable_interval() = ToProtoDuration(interval);
    *request.mutable_lease() = ToProtoDuration(lease);
    watch_.OnRequest(request);
  }
  // Waits for so many readings in all.
  void AwaitReads(int count) {
    const absl::Time end = absl::Now() + absl::Seconds(60);
    while (reads_ < count && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
    ASSERT_EQ(reads_, count);
  }
  // What has been read is due from then on.
  void AwaitWoken(int count) {
    const absl::Time end = absl::Now() + absl::Seconds(60);
    while (woken_ < count && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
    ASSERT_EQ(woken_, count);
  }
  // The message that is due, once it is.
  v1::AgentMessage Take() {
    const absl::Time end = absl::Now() + absl::Seconds(60);
    while (absl::Now() < end) {
      std::vector<v1::AgentMessage> due = watch_.TakeDue();
      if (!due.empty()) return due.front();
      absl::SleepFor(absl::Milliseconds(1));
    }
    return {};
  }
  // Nothing is read within a moment.
  void ExpectNoMore() {
    const int before = reads_;
    absl::SleepFor(absl::Milliseconds(30));
    EXPECT_EQ(reads_, before);
  }

  muster::testing::FakeClock clock_;
  std::atomic<int> reads_ = 0;
  std::atomic<int> woken_ = 0;
  ReadingWatch watch_{[this] {
                        v1::NodeReadings readings;
                        readings.set_memory_used_bytes(static_cast<uint64_t>(++reads_));
                        return readings;
                      },
                      [this] { ++woken_; }, clock_};
};

TEST_F(ReadingWatchTest, MeasuresWhileItIsWanted) {
  ExpectNoMore();
  Ask(absl::Seconds(2), absl::Seconds(5));
  EXPECT_EQ(Take().readings().memory_used_bytes(), 1);
  ExpectNoMore();
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(Take().readings().memory_used_bytes(), 2);
  AwaitWoken(2);
  clock_.Advance(absl::Seconds(4));
  ExpectNoMore();
}

TEST_F(ReadingWatchTest, LeaseIsRenewed) {
  Ask(absl::Seconds(2), absl::Seconds(5));
  Take();
  clock_.Advance(absl::Seconds(1));
  Ask(absl::Seconds(2), absl::Seconds(30));
  ExpectNoMore();  // asking again does not hurry it
  clock_.Advance(absl::Seconds(1));
  AwaitReads(2);
  clock_.Advance(absl::Seconds(10));
  AwaitReads(3);
}

TEST_F(ReadingWatchTest, WhoWantsMoreNeedNotWaitForALongInterval) {
  Ask(absl::Seconds(20), absl::Seconds(30));
  AwaitReads(1);
  Ask(absl::Seconds(2), absl::Seconds(30));
  clock_.Advance(absl::Seconds(2));
  AwaitReads(2);
}

TEST_F(ReadingWatchTest, ControllerCannotHurryItBeyondASecond) {
  Ask(absl::Milliseconds(1), absl::Hours(10));
  AwaitReads(1);
  clock_.Advance(absl::Milliseconds(900));
  ExpectNoMore();
  clock_.Advance(absl::Milliseconds(100));
  AwaitReads(2);
  clock_.Advance(ReadingWatch::kLongestLease);
  ExpectNoMore();
}

TEST_F(ReadingWatchTest, EndsWithTheConnection) {
  Ask(absl::Seconds(2), absl::Seconds(30));
  AwaitReads(1);
  watch_.OnDisconnected();
  clock_.Advance(absl::Seconds(3));
  ExpectNoMore();
  EXPECT_TRUE(watch_.TakeDue().empty());
}

TEST_F(ReadingWatchTest, ReadingThatNobodyFetchedIsReplaced) {
  Ask(absl::Seconds(1), absl::Seconds(30));
  for (int i = 1; i <= 5; ++i) {
    AwaitReads(i);
    clock_.Advance(absl::Seconds(1));
  }
  AwaitReads(6);
  AwaitWoken(6);
  EXPECT_EQ(Take().readings().memory_used_bytes(), 6);
  EXPECT_TRUE(watch_.TakeDue().empty());
}

TEST_F(ReadingWatchTest, ZeroEndsIt) {
  Ask(absl::Seconds(1), absl::Seconds(30));
  AwaitReads(1);
  Ask(absl::Seconds(1), absl::ZeroDuration());
  clock_.Advance(absl::Seconds(2));
  ExpectNoMore();
}

}  // namespace
}  // namespace muster::agent
