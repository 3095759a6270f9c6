#include "controller/web/task_pool.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "common/base/clock.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

TEST(TaskPool, OneThatHangsHoldsUpNoOther) {
  RealClock clock;
  absl::Notification release, done;
  {
    TaskPool pool(clock);
    ASSERT_OK(pool.Do([&] { release.WaitForNotification(); }));
    ASSERT_OK(pool.Do([&] { done.Notify(); }));
    EXPECT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(10)));
    release.Notify();
  }
}

TEST(TaskPool, TooManyAreRefusedAndTheRestIsDone) {
  RealClock clock;
  absl::Notification release;
  std::atomic<size_t> began = 0, done = 0;
  TaskPool pool(clock);
  for (size_t i = 0; i < TaskPool::kThreads; ++i) {
    ASSERT_OK(pool.Do([&] {
      ++began;
      release.WaitForNotification();
      ++done;
    }));
  }
  for (int i = 0; i < 1000 && began < TaskPool::kThreads; ++i)
    absl::SleepFor(absl::Milliseconds(10));
  for (size_t i = 0; i < TaskPool::kMaxWaiting; ++i) ASSERT_OK(pool.Do([&] { ++done; }));
  EXPECT_TRUE(absl::IsResourceExhausted(pool.Do([&] { ++done; })));
  release.Notify();
  const size_t all = TaskPool::kThreads + TaskPool::kMaxWaiting;
  for (int i = 0; i < 1000 && done < all; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(done, all);
  pool.Stop();
  EXPECT_OK(pool.Do([&] { ++done; }));  // nobody does it any more
  EXPECT_EQ(done, all);
}

}  // namespace
}  // namespace muster::controller
