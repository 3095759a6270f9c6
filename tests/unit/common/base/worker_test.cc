#include "common/base/worker.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "tests/fakes/fake_clock.h"

namespace muster {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

class WorkerTest : public ::testing::Test {
 protected:
  // A step that counts, and is due again at `next_`.
  absl::Time Step() {
    absl::MutexLock lock(&mutex_);
    ++steps_;
    return next_;
  }
  bool HasDone(int steps) {
    const auto has_done = [&] { return steps_ >= steps; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&has_done), kPatience);
  }
  int steps() {
    absl::MutexLock lock(&mutex_);
    return steps_;
  }

  testing::FakeClock clock_;
  absl::Mutex mutex_;
  int steps_ = 0;
  absl::Time next_ = absl::InfiniteFuture();
  Worker worker_{clock_, [this] { return Step(); }};
};

TEST_F(WorkerTest, StepsAtTheStartAndWheneverItIsWoken) {
  worker_.Start();
  ASSERT_TRUE(HasDone(1));
  worker_.Wake();
  ASSERT_TRUE(HasDone(2));
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(steps(), 2);
}

TEST_F(WorkerTest, StepsAtTheTimeThatTheStepBeforeNamed) {
  next_ = clock_.Now() + absl::Seconds(10);
  worker_.Start();
  ASSERT_TRUE(HasDone(1));
  EXPECT_EQ(steps(), 1);
  {
    absl::MutexLock lock(&mutex_);
    next_ = absl::InfiniteFuture();
  }
  clock_.Advance(absl::Seconds(10));
  EXPECT_TRUE(HasDone(2));
}

TEST_F(WorkerTest, NoWakeIsLost) {
  absl::Notification begun, woken;
  std::atomic<int> steps = 0;
  Worker worker(clock_, [&] {
    if (steps++ == 0) {
      begun.Notify();
      woken.WaitForNotificationWithTimeout(kPatience);
    }
    return absl::InfiniteFuture();
  });
  worker.Start();
  ASSERT_TRUE(begun.WaitForNotificationWithTimeout(kPatience));
  worker.Wake();  // while the step is running
  woken.Notify();
  for (int i = 0; i < 10'000 && steps < 2; ++i) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(steps, 2);
}

TEST_F(WorkerTest, NoStepBeginsAfterTheStop) {
  next_ = absl::InfinitePast();
  worker_.Start();
  ASSERT_TRUE(HasDone(100));
  worker_.Stop();
  worker_.Stop();
  const int done = steps();
  worker_.Wake();
  EXPECT_TRUE(worker_.has_ended());
  EXPECT_EQ(steps(), done);
}

TEST_F(WorkerTest, OneThatWasStoppedBeforeItsStartDoesNothing) {
  worker_.RequestStop();
  EXPECT_TRUE(worker_.has_ended());
  worker_.Start();
  worker_.Stop();
  EXPECT_EQ(steps(), 0);
}

TEST_F(WorkerTest, AStepMayEndItsWorker) {
  std::atomic<int> steps = 0;
  Worker worker(clock_, [&] {
    if (++steps == 3) worker.RequestStop();
    return absl::InfinitePast();
  });
  worker.Start();
  for (int i = 0; i < 10'000 && !worker.has_ended(); ++i) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(worker.has_ended());
  EXPECT_EQ(steps, 3);
}

}  // namespace
}  // namespace muster
