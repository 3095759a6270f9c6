#include "controller/run/run_history.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/plan.pb.h"
#include "muster/v1/run.pb.h"
#include "tests/fakes/failing_store.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr uint64_t kResults = 5 * RunHistory::kPageResults + 3;
constexpr uint64_t kChanged = 3 * RunHistory::kPageResults;  // one of them

// Counts the calls of a watch.
class Calls {
 public:
  std::function<void()> counter() {
    return [this] {
      absl::MutexLock lock(&mutex_);
      ++calls_;
    };
  }
  bool Await(int calls) {
    const auto enough = [this, calls] { return calls_ >= calls; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&enough), kPatience);
  }

 private:
  absl::Mutex mutex_;
  int calls_ = 0;
};

class RunHistoryTest : public ::testing::Test {
 protected:
  RunHistoryTest() : store_(OpenStore(":memory:").value()) {
    EXPECT_OK(store_.Update([](Transaction& txn) -> absl::Status {
      RunRecord run;
      run.run_id = "r-1";
      run.state = RunRecord::kSucceeded;
      run.created_at = absl::FromUnixSeconds(1'900'000'000);
      RETURN_IF_ERROR(txn.runs().Put(run));
      RunNodeRecord node;
      node.run_id = "r-1";
      node.node = "c001";
      RETURN_IF_ERROR(txn.runs().PutNode(node));
      for (uint64_t i = 1; i <= kResults; ++i) {
        StepResultRecord result;
        result.run_id = "r-1";
        result.node = "c001";
        result.sequence = i;
        result.step_id = absl::StrCat("s", i);
        result.status = i == kChanged ? v1::STEP_STATUS_CHANGED : v1::STEP_STATUS_OK;
        result.time = run.created_at;
        RETURN_IF_ERROR(txn.step_results().Put(result));
      }
      return absl::OkStatus();
    }));
  }

  // Everything, read as by a reactor: it continues when called.
  std::vector<uint64_t> ReadAll(RunHistory& history, uint64_t after,
                                FeedPart part = FeedPart::kAll) {
    Calls calls;
    auto watch = history.Watch("r-1", after, calls.counter(), part);
    EXPECT_OK(watch);
    if (!watch.ok()) return {};
    std::vector<uint64_t> sequences;
    int pages = 0;
    while (true) {
      if (const RunEventPtr event = (*watch)->Next()) {
        sequences.push_back(event->sequence());
        is_finished_ = event->has_run_finished();
      } else if ((*watch)->AtEnd() || !calls.Await(++pages)) {
        break;
      }
    }
    (*watch)->Cancel();
    return sequences;
  }

  RealClock clock_;
  muster::testing::FailingStore store_;
  bool is_finished_ = false;
};

TEST_F(RunHistoryTest, GivesEverythingInOrderFromAnyPlace) {
  RunHistory history(store_, clock_);
  const std::vector<uint64_t> all = ReadAll(history, 0);
  ASSERT_EQ(all.size(), kResults + 2);  // the node's result, and the end
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i + 1);
  EXPECT_TRUE(is_finished_);
  EXPECT_EQ(ReadAll(history, kResults - 1).size(), 3u);
  EXPECT_EQ(ReadAll(history, kResults + 1).size(), 1u);
  EXPECT_EQ(ReadAll(history, kResults + 2).size(), 0u);
  EXPECT_THAT(history.Watch("r-none", 0, [] {}), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(RunHistoryTest, GivesChangesAlone) {
  RunHistory history(store_, clock_);
  EXPECT_EQ(ReadAll(history, 0, FeedPart::kChanges),
            (std::vector<uint64_t>{kChanged, kResults + 1, kResults + 2}));
  EXPECT_TRUE(is_finished_);
  EXPECT_EQ(ReadAll(history, kChanged, FeedPart::kChanges).size(), 2u);
}

TEST_F(RunHistoryTest, AnEventHoldsTheStepAsItWasStored) {
  v1::StepResult step;
  step.set_step_id("role/a");
  step.set_status(v1::STEP_STATUS_CHANGED);
  step.set_output(std::string(300, 'x'));
  StepResultRecord result;
  result.node = "c001";
  result.sequence = 7;
  result.time = absl::FromUnixSeconds(1'900'000'000);
  result.result = step.SerializeAsString();
  const v1::RunEvent event = StepEvent(result);
  EXPECT_EQ(event.sequence(), 7u);
  EXPECT_EQ(event.node(), "c001");
  EXPECT_EQ(event.time().seconds(), 1'900'000'000);
  EXPECT_EQ(event.step().SerializeAsString(), result.result);
  auto feed = std::make_shared<RunFeed>(kRunRetention, result.sequence);
  result.status = v1::STEP_STATUS_OK;
  AppendStep(result, *feed);
  EXPECT_EQ(feed->Watch(0, [] {})->Next()->SerializeAsString(), event.SerializeAsString());
  EXPECT_EQ(feed->Watch(
                    0, [] {}, FeedPart::kChanges)
                ->Next(),
            nullptr);
  result.result.clear();
  EXPECT_TRUE(StepEvent(result).has_step()) << "the default of every field takes no bytes";
}

// A log of 64 MiB for each of a hundred watchers who do not read would take all of the memory.
TEST_F(RunHistoryTest, WatchOfALongRunKeepsOnePageUntilItIsRead) {
  RunHistory history(store_, clock_);
  Calls calls;
  auto idle = *history.Watch("r-1", 0, calls.counter());
  EXPECT_EQ(idle->Next(), nullptr) << "the store is not read in the caller's thread";
  ASSERT_TRUE(calls.Await(1));
  // Meanwhile another one gets everything.
  EXPECT_EQ(ReadAll(history, 0).size(), kResults + 2);
  for (uint32_t i = 1; i <= RunHistory::kPageResults; ++i) {
    const RunEventPtr event = idle->Next();
    ASSERT_NE(event, nullptr);
    EXPECT_EQ(event->sequence(), i);
  }
  EXPECT_EQ(idle->Next(), nullptr);
  EXPECT_FALSE(idle->AtEnd());
  ASSERT_TRUE(calls.Await(2));
  EXPECT_EQ(idle->Next()->sequence(), RunHistory::kPageResults + 1);
}

TEST_F(RunHistoryTest, WatchersAreSentAwayWhenTheStoreFailsOrTheControllerStops) {
  RunHistory history(store_, clock_);
  Calls calls;
  auto watch = *history.Watch("r-1", 0, calls.counter());
  store_.Refuse(1, 1);
  EXPECT_EQ(watch->Next(), nullptr);
  ASSERT_TRUE(calls.Await(1));
  EXPECT_TRUE(watch->IsBroken());
  auto later = *history.Watch("r-1", 0, [] {});
  EXPECT_FALSE(later->IsBroken());
  history.BreakAll();
  EXPECT_TRUE(later->IsBroken());
}

TEST_F(RunHistoryTest, CancelledWatchIsNotCalled) {
  std::atomic<int> called = 0;
  {
    RunHistory history(store_, clock_);
    auto watch = *history.Watch("r-1", 0, [&] { ++called; });
    watch->Cancel();
    EXPECT_EQ(watch->Next(), nullptr);
    EXPECT_EQ(ReadAll(history, 0).size(), kResults + 2);  // after it
  }
  EXPECT_EQ(called, 0);
}

}  // namespace
}  // namespace muster::controller
