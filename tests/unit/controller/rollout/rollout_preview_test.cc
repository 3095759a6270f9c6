// What is known of a rollout before it begins, and rollouts that do what a plan file says.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/proto_time.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/rollout/rollout_cluster.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

v1::PreviewRolloutResponse Preview(Cluster& cluster, const v1::CreateRolloutRequest& request) {
  const auto preview = cluster.manager_->Preview(request, cluster.Ann());
  EXPECT_OK(preview.status());
  return preview.value_or(v1::PreviewRolloutResponse());
}

TEST(RolloutPreview, EstimatesFromTheJobsOfNowAndTheUpdatesOfBefore) {
  Cluster cluster;
  cluster.slurm_.jobs[Cluster::Name(2)] = {{"4711", "ann", "train", absl::Hours(3)}};
  v1::CreateRolloutRequest request = cluster.Request();
  v1::RolloutEstimate estimate = Preview(cluster, request).estimate();
  EXPECT_EQ(ToDuration(estimate.total()), absl::Hours(3));
  EXPECT_FALSE(estimate.has_node_update()) << "nothing was measured yet";

  cluster.slurm_.jobs.clear();
  const std::string earlier = cluster.Create(request);
  const v1::Rollout ended = cluster.Await(earlier);
  absl::Duration longest;
  std::map<std::string, absl::Time> begun;
  for (const v1::RolloutEvent& event : ended.events()) {
    if (event.step() == v1::ROLLOUT_STEP_APPLYING) begun[event.node()] = ToTime(event.time());
    if (event.step() == v1::ROLLOUT_STEP_DONE)
      longest = std::max(longest, ToTime(event.time()) - begun[event.node()]);
  }
  ASSERT_GT(longest, absl::ZeroDuration());
  request.set_bundle_sha256("newer");
  estimate = Preview(cluster, request).estimate();
  EXPECT_EQ(estimate.measured_in(), earlier);
  EXPECT_EQ(ToDuration(estimate.node_update()), longest);
  EXPECT_EQ(ToDuration(estimate.total()), kNodes * longest);
}

TEST(RolloutPreview, ARolloutThatChangedNothingMeasuresNothing) {
  Cluster cluster;
  cluster.runs_change_ = false;
  cluster.Await(cluster.Create(cluster.Request()));
  EXPECT_FALSE(Preview(cluster, cluster.Request()).estimate().has_node_update());
}

TEST(RolloutPreview, WithoutSlurmsAnswerThereIsNoEstimate) {
  Cluster cluster;
  cluster.slurm_.status = absl::UnavailableError("slurmctld does not answer");
  const v1::PreviewRolloutResponse preview = Preview(cluster, cluster.Request());
  EXPECT_THAT(preview.jobs_unknown(), Not(IsEmpty()));
  EXPECT_FALSE(preview.has_estimate());
}

// A plan of two of the three nodes, as `muster update --plan --out` writes it.
class PlannedRollout : public ::testing::Test {
 protected:
  PlannedRollout() {
    v1::CreateRolloutRequest request = cluster_.Request();
    request.set_max_unavailable("2");
    request.set_failure_budget(1);
    cluster_.plan_file_.set_bundle_sha256(kNewBundle);
    cluster_.plan_file_.set_playbook("site.yaml");
    cluster_.plan_file_.add_tags("nvidia");
    *cluster_.plan_file_.mutable_rollout()->mutable_rollout()->mutable_request() = request;
    cluster_.planned_ = {Cluster::Name(1), Cluster::Name(3)};
    by_plan_.set_plan_sha256("plan");
  }

  Cluster cluster_;
  v1::CreateRolloutRequest by_plan_;
};

TEST_F(PlannedRollout, DoesWhatTheFileSaysOnItsNodesAlone) {
  const v1::Rollout ended = cluster_.Await(cluster_.Create(by_plan_));
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED) << ended.message();
  EXPECT_THAT(ended.nodes(), SizeIs(2));
  EXPECT_EQ(ended.max_unavailable(), 2u);
  EXPECT_EQ(ended.request().failure_budget(), 1u);
  EXPECT_EQ(ended.request().bundle_sha256(), kNewBundle);
  EXPECT_THAT(cluster_.asked_runs_, SizeIs(2));
  for (const auto& [run, actor] : cluster_.asked_runs_) {
    EXPECT_EQ(run.plan_sha256(), "plan");
    EXPECT_EQ(actor.rollout_id, ended.rollout_id());
    EXPECT_THAT(run.bundle_sha256(), IsEmpty()) << "the plan file says it";
    EXPECT_THAT(run.tags(), IsEmpty());
  }
}

TEST_F(PlannedRollout, ContinuesAfterARestartAlthoughTheFileIsNoLongerValid) {
  const std::string id = cluster_.Create(by_plan_);
  cluster_.Second();
  cluster_.plan_holds_ = absl::FailedPreconditionError("the plan has expired");
  cluster_.Kill();
  cluster_.Boot();
  EXPECT_EQ(cluster_.Await(id).state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_THAT(cluster_.manager_->Create(by_plan_, cluster_.Ann()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has expired")));
}

TEST_F(PlannedRollout, TheWayBackFollowsThePlaybookOfBefore) {
  cluster_.plan_file_.mutable_rollout()->mutable_rollout()->mutable_request()->set_on_failure(
      v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  cluster_.plan_file_.mutable_rollout()->mutable_rollout()->mutable_request()->set_failure_budget(
      0);
  cluster_.failing_bundles_ = {kNewBundle};
  const v1::Rollout ended = cluster_.Await(cluster_.Create(by_plan_));
  ASSERT_EQ(ended.state(), v1::ROLLOUT_STATE_ROLLED_BACK) << ended.message();
  const v1::Rollout back = cluster_.Await(ended.rolled_back_by());
  EXPECT_EQ(back.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(back.request().bundle_sha256(), kOldBundle);
  EXPECT_THAT(back.request().plan_sha256(), IsEmpty());
}

TEST_F(PlannedRollout, NothingElseCanBeAskedForBesideTheFile) {
  by_plan_.set_max_unavailable("100%");
  EXPECT_THAT(cluster_.manager_->Create(by_plan_, cluster_.Ann()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  by_plan_.clear_max_unavailable();
  cluster_.plan_file_.clear_rollout();
  EXPECT_THAT(cluster_.manager_->Create(by_plan_, cluster_.Ann()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::controller::rollout
