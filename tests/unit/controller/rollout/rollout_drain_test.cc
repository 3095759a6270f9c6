// A rollout and the jobs of the nodes that it drains: it waits for them, or has them requeued.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/rollout/rollout_manager.h"
#include "muster/v1/rollout.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/rollout/rollout_cluster.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(RolloutManager, WaitsForJobsHoweverLateTheyStarted) {
  Cluster cluster;
  cluster.slurm_.jobs["c001"] = {{"11", "ann", "train", absl::Hours(1)}};
  cluster.slurm_.jobs["c002"] = {{"12", "ann", "train", absl::Hours(2)}};
  const std::string id = cluster.Create(cluster.Request());
  for (int i = 0; i < 20; ++i) cluster.Second();
  // The idle node was the canary; then the one whose job ends first is drained.
  v1::Rollout now = cluster.Get(id);
  EXPECT_EQ(now.nodes(2).step(), v1::ROLLOUT_STEP_DONE);
  EXPECT_EQ(now.nodes(0).step(), v1::ROLLOUT_STEP_DRAINING);
  EXPECT_EQ(now.nodes(1).step(), v1::ROLLOUT_STEP_PENDING);
  const auto explained = cluster.manager_->Explain("c001", "");
  ASSERT_OK(explained.status());
  EXPECT_THAT(explained->explanation(), Said());
  // A job that slipped in before the drain.
  cluster.slurm_.jobs["c001"] = {{"13", "eve", "late", absl::Minutes(5)}};
  for (int i = 0; i < 20; ++i) cluster.Second();
  EXPECT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_DRAINING);
  cluster.slurm_.jobs.clear();
  EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_FALSE(cluster.killed_a_job_);
  EXPECT_EQ(cluster.most_out_, 1);
}

TEST(RolloutManager, RequeuesWhatMayBeAndWaitsForTheRest) {
  Cluster cluster;
  cluster.slurm_.jobs["c001"] = {{"11", "ann", "train"}, {"12", "bob", "shell"}};
  cluster.slurm_.not_requeued["12"] = "it is not a batch job";
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_limit("c001");
  request.mutable_drain_timeout()->set_seconds(60);
  request.set_on_timeout(v1::DRAIN_TIMEOUT_ACTION_REQUEUE);
  const std::string id = cluster.Create(request);
  for (int i = 0; i < 55; ++i) cluster.Second();
  EXPECT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_DRAINING);
  EXPECT_THAT(cluster.slurm_.calls, Not(Contains(HasSubstr("requeue"))));
  for (int i = 0; i < 20; ++i) cluster.Second();
  const v1::Rollout now = cluster.Get(id);
  EXPECT_EQ(now.nodes(0).step(), v1::ROLLOUT_STEP_REQUEUING);
  EXPECT_THAT(now.nodes(0).message(), Said());
  const auto explained = cluster.manager_->Explain("c001", "");
  ASSERT_OK(explained.status());
  EXPECT_THAT(explained->explanation(), Said());
  // Each once, however often it was looked at; a restarted process asks anew for what is left.
  const auto requeues = [&](const char* job) {
    return std::count(cluster.slurm_.calls.begin(), cluster.slurm_.calls.end(),
                      absl::StrCat("requeue ", job, " on c001"));
  };
  EXPECT_EQ(requeues("11"), 1);
  EXPECT_EQ(requeues("12"), 1);
  cluster.Kill();
  cluster.Boot();
  for (int i = 0; i < 5; ++i) cluster.Second();
  EXPECT_EQ(requeues("11"), 1);
  EXPECT_EQ(requeues("12"), 2);
  EXPECT_THAT(cluster.RunsOf("c001"), IsEmpty());
  cluster.slurm_.jobs.clear();
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_THAT(cluster.WayOf(ended, "c001"),
              ElementsAre("draining", "requeuing", "applying", "validating", "resuming", "done"));
  EXPECT_FALSE(cluster.killed_a_job_);
  EXPECT_EQ(cluster.AuditedOf("rollout.requeue"),
            (std::vector<std::string>{"admin:ann jobs 11 (ann, train) and 12 (bob, shell) on c001",
                                      "admin:ann job 12 (bob, shell) on c001"}));
}

// The process dies at each commit: nothing is requeued that is not in the audit log.
TEST(RolloutManager, RequeuesNothingThatIsNotInTheAuditLog) {
  int deaths = 0;
  for (const auto death : {FailingStore::Death::kBeforeCommit, FailingStore::Death::kAfterCommit}) {
    for (int at = 1; at <= 12; ++at) {
      SCOPED_TRACE(absl::StrCat("commit ", at));
      Cluster cluster;
      cluster.slurm_.jobs["c001"] = {{"11", "ann", "train"}};
      v1::CreateRolloutRequest request = cluster.Request();
      request.set_limit("c001");
      request.mutable_drain_timeout()->set_seconds(5);
      request.set_on_timeout(v1::DRAIN_TIMEOUT_ACTION_REQUEUE);
      const std::string id = cluster.Create(request);
      cluster.store_.Die(at, death, [&] { ++deaths; });
      const v1::Rollout ended = cluster.Await(id);
      EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED) << ended.message();
      EXPECT_THAT(cluster.WayOf(ended, "c001"), ElementsAre("draining", "requeuing", "applying",
                                                            "validating", "resuming", "done"));
      const auto requeues = std::count(cluster.slurm_.calls.begin(), cluster.slurm_.calls.end(),
                                       "requeue 11 on c001");
      EXPECT_EQ(requeues, 1);
      EXPECT_GE(cluster.AuditedOf("rollout.requeue").size(), 1u);
    }
  }
  EXPECT_GT(deaths, 12);
}

TEST(RolloutManager, AnAgentThatCannotRequeueIsAskedOnce) {
  Cluster cluster;
  cluster.slurm_.jobs["c001"] = {{"11", "ann", "train"}};
  cluster.slurm_.requeue_status =
      absl::InvalidArgumentError("a request that this agent does not know");
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_limit("c001");
  request.mutable_drain_timeout()->set_seconds(5);
  request.set_on_timeout(v1::DRAIN_TIMEOUT_ACTION_REQUEUE);
  const std::string id = cluster.Create(request);
  for (int i = 0; i < 30; ++i) cluster.Second();
  EXPECT_THAT(cluster.Get(id).nodes(0).message(), Said());
  EXPECT_THAT(cluster.AuditedOf("rollout.requeue"), SizeIs(1));
}

}  // namespace
}  // namespace muster::controller::rollout
