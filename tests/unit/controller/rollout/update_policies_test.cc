#include "controller/rollout/update_policies.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "controller/inventory/update_policy.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/rollout/rollout_cluster.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kPolicy[] = "updates: {nightly: {playbook: site.yaml}}\n";

// With a policy, and everything up to date: the old bundle was applied whole by an administrator.
class PolicyCluster : public Cluster {
 public:
  explicit PolicyCluster(const std::string& more = kPolicy) {
    SetInventory(more);
    Approve(kOldBundle, "r-first");
    clock_.Advance(absl::Seconds(1));
  }
  void Seconds(int count) {
    for (int i = 0; i < count; ++i) {
      if (store_.dead()) {
        Kill();
        Boot();
      }
      Second();
    }
  }
  v1::UpdatePolicy Policy() {
    const auto policies = policies_->List();
    EXPECT_OK(policies.status());
    return policies.ok() && policies->size() == 1 ? policies->front() : v1::UpdatePolicy();
  }
  // The bundles of the policy's rollouts that completed on all nodes, oldest first.
  std::vector<std::string> Done() {
    std::vector<std::string> bundles;
    for (const v1::Rollout& rollout : Rollouts()) {
      if (rollout.created_by() != "policy:nightly" ||
          rollout.state() != v1::ROLLOUT_STATE_COMPLETED)
        continue;
      bundles.insert(bundles.begin(), rollout.request().bundle_sha256());
    }
    return bundles;
  }
};

TEST(UpdatePolicies, WhatIsAppliedAlreadyIsUpToDate) {
  PolicyCluster cluster;
  cluster.Seconds(30);
  EXPECT_THAT(cluster.Rollouts(), IsEmpty());
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_UP_TO_DATE);
  EXPECT_EQ(cluster.Policy().request().bundle_sha256(), kOldBundle);
}

TEST(UpdatePolicies, AnApprovedBundleRollsOnceAndOneNodeAtATime) {
  PolicyCluster cluster;
  cluster.Approve(kNewBundle);
  cluster.Seconds(10);
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_RUNNING);
  cluster.Seconds(200);
  EXPECT_EQ(cluster.Done(), std::vector<std::string>{kNewBundle});
  EXPECT_THAT(cluster.Rollouts(), SizeIs(1));
  EXPECT_EQ(cluster.most_out_, 1);
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_UP_TO_DATE);
  cluster.Kill();
  cluster.Boot();
  cluster.Seconds(60);
  EXPECT_THAT(cluster.Rollouts(), SizeIs(1)) << "a restart starts nothing twice";
}

TEST(UpdatePolicies, AnInventoryThatSaysSomethingElseRolls) {
  PolicyCluster cluster;
  cluster.SetInventory(absl::StrCat(kPolicy, "vars: {stack: debian13}\n"));
  cluster.Seconds(200);
  EXPECT_EQ(cluster.Done(), std::vector<std::string>{kOldBundle});
  // The policy itself is nothing that a playbook can see.
  cluster.SetInventory(
      "updates: {nightly: {playbook: site.yaml, soak: 1h}}\nvars: {stack: debian13}\n");
  cluster.Seconds(60);
  EXPECT_THAT(cluster.Rollouts(), SizeIs(1));
  // Back again is a change, too.
  cluster.SetInventory(kPolicy);
  cluster.Seconds(200);
  EXPECT_THAT(cluster.Done(), SizeIs(2));
}

// The process dies at each of its commits: one rollout all the same.
TEST(UpdatePolicies, StartsOnceWhereverTheProcessDies) {
  int commits = 0;
  {
    PolicyCluster cluster;
    cluster.Approve(kNewBundle);
    cluster.store_.Die(1'000'000, FailingStore::Death::kBeforeCommit, [] {});
    cluster.Seconds(100);
    commits = cluster.store_.updates();
    ASSERT_THAT(cluster.Done(), SizeIs(1));
  }
  ASSERT_GT(commits, 5 * kNodes);
  for (const auto death : {FailingStore::Death::kBeforeCommit, FailingStore::Death::kAfterCommit}) {
    for (int at = 1; at <= commits; ++at) {
      SCOPED_TRACE(absl::StrCat("commit ", at, " of ", commits));
      PolicyCluster cluster;
      cluster.Approve(kNewBundle);
      int deaths = 0;
      cluster.store_.Die(at, death, [&] { ++deaths; });
      for (int i = 0; i < 20 && cluster.Done().empty(); ++i) cluster.Seconds(10);
      cluster.Seconds(10);
      EXPECT_EQ(deaths, 1);
      EXPECT_EQ(cluster.Done(), std::vector<std::string>{kNewBundle});
      EXPECT_THAT(cluster.Rollouts(), SizeIs(1));
      EXPECT_LE(cluster.most_out_, 1);
    }
  }
}

// Beside the node that failed another may be out of service.
constexpr char kTwoAtOnce[] = "updates: {nightly: {playbook: site.yaml, max_unavailable: 2}}\n";

TEST(UpdatePolicies, AFailedOneWaitsForSomebodyAndForNothingElse) {
  PolicyCluster cluster(kTwoAtOnce);
  cluster.failing_bundles_ = {kNewBundle};
  cluster.Approve(kNewBundle);
  cluster.Seconds(100);
  ASSERT_THAT(cluster.Rollouts(), SizeIs(1));
  const std::string id = cluster.Rollouts()[0].rollout_id();
  EXPECT_EQ(cluster.Rollouts()[0].state(), v1::ROLLOUT_STATE_PAUSED);
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_STOPPED);
  EXPECT_THAT(cluster.Policy().message(), Said());

  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kAborted, "", {"operator:eve", ""}));
  cluster.Seconds(20);
  cluster.Kill();
  cluster.Boot();
  cluster.Seconds(100);
  EXPECT_THAT(cluster.Rollouts(), SizeIs(1)) << "not with the same bundle and inventory";
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_STOPPED);
  EXPECT_THAT(cluster.Policy().message(), Said());

  cluster.failing_bundles_.clear();
  cluster.Approve(kNewBundle);  // an administrator says so
  cluster.Seconds(200);
  EXPECT_EQ(cluster.Done(), std::vector<std::string>{kNewBundle});
}

TEST(UpdatePolicies, APausedOneContinuesWhenSomebodyResumesIt) {
  PolicyCluster cluster(kTwoAtOnce);
  cluster.failing_bundles_ = {kNewBundle};
  cluster.Approve(kNewBundle);
  cluster.Seconds(100);
  ASSERT_THAT(cluster.Rollouts(), SizeIs(1));
  cluster.failing_bundles_.clear();
  ASSERT_OK(cluster.manager_->Change(cluster.Rollouts()[0].rollout_id(), RolloutEvent::kResumed, "",
                                     {"operator:eve", ""}));
  cluster.Seconds(200);
  EXPECT_EQ(cluster.Done(), std::vector<std::string>{kNewBundle});
  EXPECT_THAT(cluster.Rollouts(), SizeIs(1));
}

TEST(UpdatePolicies, WhatWasRolledBackStaysBack) {
  PolicyCluster cluster("updates: {nightly: {playbook: site.yaml, on_failure: rollback}}\n");
  cluster.failing_bundles_ = {kNewBundle};
  cluster.Approve(kNewBundle);
  cluster.Seconds(300);
  const std::vector<v1::Rollout> all = cluster.Rollouts();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[1].state(), v1::ROLLOUT_STATE_ROLLED_BACK);
  EXPECT_EQ(all[0].state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(all[0].request().rolls_back_id(), all[1].rollout_id());
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_STOPPED);
  EXPECT_EQ(cluster.Policy().request().bundle_sha256(), kNewBundle);
  // By hand, once it works.
  cluster.failing_bundles_.clear();
  EXPECT_EQ(cluster.Await(cluster.Create(cluster.Request())).state(), v1::ROLLOUT_STATE_COMPLETED);
  cluster.Seconds(60);
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_UP_TO_DATE);
  EXPECT_THAT(cluster.Rollouts(), SizeIs(3));
}

TEST(UpdatePolicies, ANewerBundleFollowsTheOneInProgress) {
  PolicyCluster cluster;
  cluster.Approve(kNewBundle);
  cluster.Seconds(10);
  cluster.Approve("newer");
  cluster.Seconds(3);
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_RUNNING);
  cluster.Seconds(300);
  EXPECT_EQ(cluster.Done(), (std::vector<std::string>{kNewBundle, "newer"}));
}

TEST(UpdatePolicies, WaitsForTheWindow) {
  PolicyCluster cluster;
  // From an hour after now on, for an hour, whatever the time zone.
  const absl::TimeZone zone = absl::LocalTimeZone();
  const absl::Time opens = cluster.clock_.Now() + absl::Hours(1);
  cluster.SetInventory(absl::StrCat(
      "updates: {nightly: {playbook: site.yaml, window: \"", absl::FormatTime("%H:%M", opens, zone),
      "-", absl::FormatTime("%H:%M", opens + absl::Hours(1), zone), "\"}}\n"));
  cluster.Approve(kNewBundle);
  cluster.Seconds(30);
  EXPECT_THAT(cluster.Rollouts(), IsEmpty());
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_PENDING);
  EXPECT_TRUE(cluster.Policy().has_next_window());
  cluster.clock_.Advance(absl::Hours(1));
  cluster.Seconds(200);
  EXPECT_EQ(cluster.Done(), std::vector<std::string>{kNewBundle});
  EXPECT_THAT(cluster.Rollouts()[0].request().windows(), SizeIs(1));
}

TEST(UpdatePolicies, WaitsForARolloutOfPeople) {
  PolicyCluster cluster;
  cluster.work_ends_ = false;
  v1::CreateRolloutRequest by_hand = cluster.Request();
  by_hand.set_bundle_sha256("other");
  const std::string id = cluster.Create(by_hand);
  cluster.Approve(kNewBundle);
  cluster.Seconds(30);
  EXPECT_THAT(cluster.Rollouts(), SizeIs(1));
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_WAITING);
  EXPECT_THAT(cluster.Policy().message(), Said());
  cluster.work_ends_ = true;
  cluster.Await(id);
  cluster.Seconds(200);
  EXPECT_EQ(cluster.Done(), std::vector<std::string>{kNewBundle});
}

// Nothing but the word of an administrator about all of the policy's nodes makes a bundle roll.
TEST(UpdatePolicies, OperatorsAndTrialsAcceptNothing) {
  PolicyCluster cluster;
  cluster.AddRun("r-eve", kNewBundle, "", "operator:eve");
  cluster.AddRun("r-trial", "trial", "c001", "admin:ann");
  cluster.Approve("trial", "r-trial");
  cluster.Seconds(60);
  EXPECT_THAT(cluster.Done(), IsEmpty());
  EXPECT_EQ(cluster.Policy().request().bundle_sha256(), kOldBundle);
  cluster.AddRun("r-all", "trial", "c[001-003]", "admin:ann");
  cluster.Seconds(10);
  EXPECT_EQ(cluster.Policy().request().bundle_sha256(), "trial");
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_UP_TO_DATE);
}

constexpr char kOfOneNode[] = "updates: {nightly: {playbook: site.yaml, nodes: c001}}\n";

// It completes, as no node is left that could be held back, and what it gave to the others stays.
TEST(UpdatePolicies, AnUpdateByHandThatFailedOnTheLastNodeIsNotTakenBack) {
  PolicyCluster cluster(kTwoAtOnce);
  cluster.failing_nodes_ = {"c003"};
  cluster.Approve(kNewBundle, "r-all");
  const v1::Rollout by_hand = cluster.Await(cluster.Create(cluster.Request()));
  ASSERT_EQ(by_hand.state(), v1::ROLLOUT_STATE_COMPLETED);
  ASSERT_NE(by_hand.message(), "");
  ASSERT_EQ(by_hand.nodes(0).step(), v1::ROLLOUT_STEP_DONE);
  EXPECT_EQ(cluster.Policy().request().bundle_sha256(), kNewBundle);
  EXPECT_NE(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_UP_TO_DATE);
  cluster.failing_nodes_.clear();
  cluster.SetInventory(absl::StrCat(kTwoAtOnce, "vars: {stack: debian13}\n"));
  cluster.Seconds(400);
  ASSERT_THAT(cluster.Done(), Not(IsEmpty()));
  EXPECT_THAT(cluster.Done(), Each(std::string(kNewBundle)));
}

TEST(UpdatePolicies, NodesThatLeaveOrJoinDoNotMakeItGoBack) {
  for (const char* workers : {"c[002-003]", "c[001-004]"}) {
    SCOPED_TRACE(workers);
    PolicyCluster cluster;
    cluster.AddRun("r-all", kNewBundle, "c[001-003]", "admin:ann");
    cluster.Approve(kNewBundle, "r-all");
    ASSERT_EQ(cluster.Policy().request().bundle_sha256(), kNewBundle);
    cluster.workers_ = workers;
    cluster.SetInventory(kPolicy);
    EXPECT_EQ(cluster.Policy().request().bundle_sha256(), kNewBundle);
  }
}

TEST(UpdatePolicies, ItsOwnUpdateThatFailedOnTheLastNodeStopsIt) {
  PolicyCluster cluster(kOfOneNode);
  cluster.failing_bundles_ = {kNewBundle};
  cluster.Approve(kNewBundle);
  cluster.Seconds(100);
  ASSERT_THAT(cluster.Rollouts(), SizeIs(1));
  EXPECT_EQ(cluster.Rollouts()[0].state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_STOPPED);
}

TEST(UpdatePolicies, ARevokedBundleStopsItAndNoOlderOneComesBack) {
  PolicyCluster cluster;
  cluster.Approve(kNewBundle);
  cluster.Seconds(200);
  ASSERT_THAT(cluster.Done(), SizeIs(1));
  cluster.Revoke(kNewBundle);
  cluster.SetInventory(absl::StrCat(kPolicy, "vars: {stack: debian13}\n"));
  cluster.Seconds(60);
  EXPECT_THAT(cluster.Rollouts(), SizeIs(1));
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_STOPPED);
  EXPECT_THAT(cluster.Policy().message(), Said());
}

// After a thousand runs of single nodes the run that once applied everything is far behind.
TEST(UpdatePolicies, RemembersWhatWasAcceptedBeforeManyRuns) {
  PolicyCluster cluster;
  cluster.SetInventory(absl::StrCat(kPolicy, "vars: {stack: debian13}\n"));
  cluster.Seconds(200);
  ASSERT_EQ(cluster.Done(), std::vector<std::string>{kOldBundle});
  cluster.AddNodeRuns(1000, kOldBundle);
  cluster.SetInventory(absl::StrCat(kPolicy, "vars: {stack: debian14}\n"));
  cluster.Seconds(200);
  EXPECT_THAT(cluster.Done(), SizeIs(2));
}

// Nor does it go back from what an administrator applied by hand before them.
TEST(UpdatePolicies, ManyRunsDoNotHideWhatWasAppliedByHand) {
  PolicyCluster cluster;
  cluster.SetInventory(absl::StrCat(kPolicy, "vars: {stack: debian13}\n"));
  cluster.Seconds(200);
  ASSERT_EQ(cluster.Done(), std::vector<std::string>{kOldBundle});
  cluster.AddRun("r-new", kNewBundle, "", "admin:ann");
  cluster.Approve(kNewBundle, "r-new");
  cluster.clock_.Advance(absl::Seconds(1));
  cluster.AddNodeRuns(1000, kOldBundle);
  cluster.Seconds(60);
  EXPECT_THAT(cluster.Rollouts(), SizeIs(1));
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_UP_TO_DATE);
  EXPECT_EQ(cluster.Policy().request().bundle_sha256(), kNewBundle);
}

TEST(UpdatePolicies, ARefusalIsSaidAndTriedAgain) {
  PolicyCluster cluster;
  cluster.refused_bundles_ = {kNewBundle};
  cluster.Approve(kNewBundle);
  cluster.Seconds(30);
  EXPECT_THAT(cluster.Rollouts(), IsEmpty());
  EXPECT_EQ(cluster.Policy().state(), v1::UPDATE_POLICY_STATE_STOPPED);
  EXPECT_THAT(cluster.Policy().message(), Said());
  cluster.refused_bundles_.clear();
  cluster.Seconds(300);
  EXPECT_EQ(cluster.Done(), std::vector<std::string>{kNewBundle});
}

// More nodes, or another playbook, were not tried yet.
TEST(UpdatePolicies, AChangedPolicyStartsAnew) {
  PolicyCluster cluster(kOfOneNode);
  cluster.Approve(kNewBundle);
  cluster.Seconds(100);
  ASSERT_THAT(cluster.Done(), SizeIs(1));
  EXPECT_THAT(cluster.Rollouts()[0].nodes(), SizeIs(1));
  cluster.SetInventory(kPolicy);
  cluster.Seconds(200);
  ASSERT_THAT(cluster.Done(), SizeIs(2));
  EXPECT_THAT(cluster.Rollouts()[0].nodes(), SizeIs(kNodes));
}

}  // namespace
}  // namespace muster::controller::rollout
