#include "agent/burnin/worker_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/clock.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::burnin {
namespace {

using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::SizeIs;

// Keeps the output; answers an endpoint like an agent, if there is an answer.
class RecordingOutput final : public Output {
 public:
  void Write(const Progress& progress) override {
    all.push_back(progress);
    if (progress.listening.has_value() && on_listening) on_listening();
  }
  void Write(const FinishedCheck&) override {}

  std::vector<Progress> all;  // read it after Finish()
  std::function<void()> on_listening;
};

struct Fixture {
  RecordingOutput output;
  RealClock clock;
  std::atomic<bool> interrupted = false;
  WorkerReporter reporter{output, clock, interrupted, absl::Milliseconds(5)};
};

TEST(WorkerReporter, WritesEachSampleOnceAndKeepsAll) {
  Fixture f;
  f.reporter.SetPhase("working", 0.5);
  for (int i = 0; i < 10; ++i) {
    f.reporter.AddSample({.at = absl::Seconds(i), .metric = "x", .value = 1.0 * i});
    f.clock.Sleep(absl::Milliseconds(3));
  }
  EXPECT_THAT(f.reporter.Finish(), SizeIs(10));
  size_t written = 0;
  for (const Progress& progress : f.output.all) written += progress.samples.size();
  EXPECT_EQ(written, 10u);
  EXPECT_EQ(f.output.all.back().phase, "working");
}

TEST(WorkerReporter, MeetsWhoAnswers) {
  Fixture f;
  f.output.on_listening = [&f] { f.reporter.SetPeers({{"10.0.0.1", 1}, {"10.0.0.2", 2}}); };
  const auto peers = f.reporter.Meet({"10.0.0.1", 1}, absl::Seconds(30));
  ASSERT_OK(peers.status());
  EXPECT_THAT(*peers, SizeIs(2));
}

TEST(WorkerReporter, DoesNotWaitForEver) {
  Fixture f;
  EXPECT_THAT(f.reporter.Meet({"", 1}, absl::Milliseconds(20)).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, _));
}

TEST(WorkerReporter, StopEndsTheWait) {
  Fixture f;
  f.output.on_listening = [&f] { f.reporter.Stop("no more power"); };
  EXPECT_THAT(f.reporter.Meet({"", 1}, absl::Seconds(30)).status(),
              StatusIs(absl::StatusCode::kCancelled, _));
  f.reporter.Stop("too late");
  EXPECT_EQ(f.reporter.stop_reason(), "no more power");
  EXPECT_TRUE(f.reporter.stopping());
}

TEST(WorkerReporter, SignalStops) {
  Fixture f;
  EXPECT_FALSE(f.reporter.stopping());
  f.interrupted = true;
  EXPECT_TRUE(f.reporter.stopping());
  EXPECT_EQ(f.reporter.stop_reason(), "interrupted");
}

}  // namespace
}  // namespace muster::burnin
