#include "controller/rollout/rollout_manager.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/gate/node_holds.h"
#include "controller/gate/service_gate.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/rollout_records.h"
#include "controller/run/run_engine.h"
#include "controller/run/run_records.h"
#include "muster/v1/run.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/rollout/rollout_cluster.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<std::string> kWholeWay = {"draining", "applying", "validating", "resuming",
                                            "done"};

TEST(RolloutManager, UpdatesOneNodeAfterTheOther) {
  Cluster cluster;
  const v1::Rollout ended = cluster.Await(cluster.Create(cluster.Request()));
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(ended.left_out(), "login1");
  EXPECT_EQ(ended.previous_bundle_sha256(), kOldBundle);
  for (int i = 1; i <= kNodes; ++i) {
    EXPECT_EQ(cluster.WayOf(ended, Cluster::Name(i)), kWholeWay);
    EXPECT_THAT(cluster.RunsOf(Cluster::Name(i)), SizeIs(1));
    EXPECT_TRUE(cluster.slurm_.nodes[Cluster::Name(i)].takes_jobs);
  }
  EXPECT_EQ(cluster.most_out_, 1);
  EXPECT_EQ(cluster.HoldCount(), 0);
}

TEST(RolloutManager, LoginAndStorageNodesFollowWithoutASuite) {
  Cluster cluster;
  cluster.Join("nas1", "uuid-nas1");
  cluster.Join("login1", "uuid-login1");
  cluster.others_ = "  login2: {role: login}\n  nas1: {role: storage}\n";
  cluster.SetInventory("");
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_login_and_storage(true);
  const v1::Rollout ended = cluster.Await(cluster.Create(request));
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(ended.left_out(), "login2") << "it has not joined";
  std::vector<std::string> order;
  for (const v1::RolloutEvent& event : ended.events())
    if (event.step() == v1::ROLLOUT_STEP_DONE) order.push_back(event.node());
  // slurmctld's node, the first login node, comes last.
  EXPECT_THAT(order, ElementsAre("c001", "c002", "c003", "nas1", "login1"));
  EXPECT_EQ(cluster.WayOf(ended, "login1"), kWholeWay);
  EXPECT_THAT(cluster.RunsOf("login1"), SizeIs(1));
  EXPECT_EQ(ended.wave_sizes(ended.wave_sizes_size() - 1), 3u) << "waves are of workers";
  for (const v1::RolloutNode& node : ended.nodes())
    EXPECT_EQ(node.validation_id().empty(), node.node()[0] != 'c') << node.node();
  EXPECT_EQ(cluster.HoldCount(), 0);
}

// The process dies at each of its commits, before and after it takes effect.
TEST(RolloutManager, SurvivesADeathAtEveryCommit) {
  int commits = 0;
  {
    Cluster cluster;
    const std::string id = cluster.Create(cluster.Request());
    cluster.store_.Die(1'000'000, FailingStore::Death::kBeforeCommit, [] {});
    cluster.Await(id);
    commits = cluster.store_.updates();
  }
  ASSERT_GT(commits, 5 * kNodes);
  for (const auto death : {FailingStore::Death::kBeforeCommit, FailingStore::Death::kAfterCommit}) {
    for (int at = 1; at <= commits; ++at) {
      SCOPED_TRACE(absl::StrCat("commit ", at, " of ", commits,
                                death == FailingStore::Death::kAfterCommit ? " after" : " before"));
      Cluster cluster;
      const std::string id = cluster.Create(cluster.Request());
      int deaths = 0;
      cluster.store_.Die(at, death, [&] { ++deaths; });
      const v1::Rollout ended = cluster.Await(id);
      EXPECT_EQ(deaths, 1);
      EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED) << ended.message();
      EXPECT_LE(cluster.most_out_, 1);
      EXPECT_EQ(cluster.HoldCount(), 0);
      for (int i = 1; i <= kNodes; ++i) {
        EXPECT_EQ(cluster.WayOf(ended, Cluster::Name(i)), kWholeWay);
        EXPECT_THAT(cluster.RunsOf(Cluster::Name(i)), SizeIs(1));
        EXPECT_TRUE(cluster.slurm_.nodes[Cluster::Name(i)].takes_jobs);
      }
    }
  }
}

// From any moment on, for half a minute.
TEST(RolloutManager, AFullStoreDelaysAndLosesNothing) {
  int before = 0;
  {
    Cluster cluster;
    const std::string id = cluster.Create(cluster.Request());
    while (!cluster.Get(id).has_finished_at()) {
      cluster.Second();
      ASSERT_LT(++before, 300);
    }
  }
  for (int begin = 0; begin < before; ++begin) {
    SCOPED_TRACE(begin);
    Cluster cluster;
    const std::string id = cluster.Create(cluster.Request());
    for (int second = 0; second < begin + 30; ++second) {
      cluster.store_.refuse = second >= begin;
      cluster.Second();
    }
    cluster.store_.refuse = false;
    const v1::Rollout ended = cluster.Await(id);
    ASSERT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED) << ended.message();
    for (int i = 1; i <= kNodes; ++i) {
      EXPECT_EQ(cluster.WayOf(ended, Cluster::Name(i)), kWholeWay);
      EXPECT_THAT(cluster.RunsOf(Cluster::Name(i)), SizeIs(1));
    }
    EXPECT_EQ(cluster.most_out_, 1);
    EXPECT_EQ(cluster.HoldCount(), 0);
  }
}

TEST(RolloutManager, WithoutAChangeNothingIsValidated) {
  Cluster cluster;
  cluster.runs_change_ = false;
  const v1::Rollout ended = cluster.Await(cluster.Create(cluster.Request()));
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_THAT(cluster.WayOf(ended, "c002"),
              ElementsAre("draining", "applying", "resuming", "done"));
}

TEST(RolloutManager, RunsRebootAsTheRolloutSays) {
  Cluster cluster;
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_reboots(v1::REBOOT_MODE_NEVER);
  const std::string id = cluster.Create(request);
  // The record of a node that is in the boot of the report.
  ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get(Cluster::Uuid(2)));
    node.boot_id = "boot-1";
    return txn.nodes().Put(node);
  }));
  const v1::Rollout ended = cluster.Await(id);
  ASSERT_THAT(cluster.asked_runs_, SizeIs(3));
  for (const auto& [run, actor] : cluster.asked_runs_)
    EXPECT_EQ(run.reboots(), v1::REBOOT_MODE_NEVER);
  ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) {
    return txn.reboots().PutPending({Cluster::Uuid(2), "boot-1", "kernel 2 is installed",
                                     ended.nodes(1).run_id(), cluster.clock_.Now()});
  }));
  EXPECT_EQ(cluster.Get(id).nodes(0).reboot_pending(), "");
  EXPECT_EQ(cluster.Get(id).nodes(1).reboot_pending(), "kernel 2 is installed");
}

// Each part of a node's update begins when the one before has ended, not at the next look at Slurm.
TEST(RolloutManager, LosesNoTimeBetweenThePartsOfAnUpdate) {
  Cluster cluster;
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_canary(0);
  const std::string id = cluster.Create(request);
  const auto step = [&] {
    cluster.clock_.Advance(absl::Milliseconds(10));
    cluster.manager_->Step();
    return cluster.Get(id).nodes(0).step();
  };
  const auto gate_looks = [&] {
    cluster.clock_.Advance(absl::Milliseconds(10));
    ASSERT_OK(cluster.gate_->Reconcile());
  };
  ASSERT_EQ(step(), v1::ROLLOUT_STEP_DRAINING);
  ASSERT_EQ(step(), v1::ROLLOUT_STEP_DRAINING) << "nobody has drained it yet";
  gate_looks();
  EXPECT_EQ(step(), v1::ROLLOUT_STEP_APPLYING);
  EXPECT_THAT(cluster.RunsOf("c001"), SizeIs(1));
  cluster.EndWork();
  EXPECT_EQ(step(), v1::ROLLOUT_STEP_VALIDATING);
  EXPECT_NE(cluster.Get(id).nodes(0).validation_id(), "");
  cluster.EndWork();
  EXPECT_EQ(step(), v1::ROLLOUT_STEP_RESUMING);
  gate_looks();
  EXPECT_EQ(step(), v1::ROLLOUT_STEP_DONE);
  step();
  EXPECT_EQ(cluster.Get(id).nodes(1).step(), v1::ROLLOUT_STEP_DRAINING);
}

TEST(RolloutManager, ABrokenBundleStopsAtTheCanary) {
  Cluster cluster;
  cluster.failing_bundles_ = {kNewBundle};
  const std::string id = cluster.Create(cluster.Request());
  v1::Rollout paused = cluster.Await(id);
  EXPECT_EQ(paused.state(), v1::ROLLOUT_STATE_PAUSED);
  EXPECT_THAT(paused.message(), Said());
  EXPECT_THAT(cluster.RunsOf("c002"), IsEmpty());
  EXPECT_THAT(cluster.RunsOf("c003"), IsEmpty());
  EXPECT_FALSE(cluster.slurm_.nodes["c001"].takes_jobs) << "what failed serves again";
  // It is taken back by people.
  ASSERT_OK(
      cluster.manager_->Change(id, RolloutEvent::kRolledBack, "not today", cluster.Ann()).status());
  const v1::Rollout back = cluster.Await(id);
  EXPECT_EQ(back.state(), v1::ROLLOUT_STATE_ROLLED_BACK);
  ASSERT_FALSE(back.rolled_back_by().empty());
  const v1::Rollout way_back = cluster.Await(back.rolled_back_by());
  EXPECT_EQ(way_back.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(way_back.request().bundle_sha256(), kOldBundle);
  EXPECT_THAT(way_back.nodes(), SizeIs(1));
  cluster.Second();
  EXPECT_TRUE(cluster.slurm_.nodes["c001"].takes_jobs);
  EXPECT_EQ(cluster.HoldCount(), 0);
}

TEST(RolloutManager, ANodeThatDoesNotPassStaysInQuarantine) {
  Cluster cluster;
  cluster.failing_nodes_ = {"c001"};
  const v1::Rollout paused = cluster.Await(cluster.Create(cluster.Request()));
  EXPECT_EQ(paused.state(), v1::ROLLOUT_STATE_PAUSED);
  EXPECT_EQ(paused.nodes(0).step(), v1::ROLLOUT_STEP_QUARANTINED);
  cluster.Second();
  EXPECT_THAT(cluster.gate_->ServiceOf("c001"), ::testing::StartsWith("quarantined"));
}

TEST(RolloutManager, OtherWorkersOfTheRackCount) {
  Cluster cluster;
  cluster.slurm_.DrainBy("root", "c003", "bad disk");
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_limit("c[001-002]");
  request.set_max_per_rack(1);
  const std::string id = cluster.Create(request);
  for (int i = 0; i < 30; ++i) cluster.Second();
  EXPECT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_PENDING);
  const auto explained = cluster.manager_->Explain("c001", "");
  ASSERT_OK(explained.status());
  EXPECT_THAT(explained->explanation(), ::testing::AllOf(HasSubstr("rack r1"), HasSubstr("c003")));
  // Powered down until a job needs it, it is not out of service.
  cluster.slurm_.Add("c003");
  cluster.slurm_.nodes["c003"].state = "IDLE+POWERED_DOWN";
  cluster.sessions_.Cut(Cluster::Uuid(3));
  EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_COMPLETED);
}

TEST(RolloutManager, NodesThatSlurmHasPoweredDownAreNotOutOfService) {
  Cluster cluster;
  for (const int i : {2, 3}) {
    cluster.slurm_.nodes[Cluster::Name(i)].state = "IDLE+POWERED_DOWN";
    cluster.sessions_.Cut(Cluster::Uuid(i));
  }
  const std::string id = cluster.Create(cluster.Request());
  const v1::Rollout ended = cluster.Await(id, 1000);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(ended.nodes(0).step(), v1::ROLLOUT_STEP_DONE);
  EXPECT_EQ(ended.nodes(1).step(), v1::ROLLOUT_STEP_SKIPPED);
  EXPECT_EQ(cluster.slurm_.nodes["c002"].state, "IDLE+POWERED_DOWN");
}

// Otherwise it would get, days later, what was taken back on all others.
TEST(RolloutManager, ANodeThatMissedAnUpdateIsNotCaughtUpOnceThatIsGivenUp) {
  for (const RolloutEvent event : {RolloutEvent::kAborted, RolloutEvent::kRolledBack}) {
    SCOPED_TRACE(RolloutEventName(event));
    Cluster cluster;
    cluster.failing_bundles_ = {kNewBundle};
    const std::string id = cluster.Create(cluster.Request());
    const v1::Rollout paused = cluster.Await(id);
    ASSERT_EQ(paused.nodes(0).step(), v1::ROLLOUT_STEP_FAILED);
    const auto result = [&] {
      std::string result;
      EXPECT_OK(cluster.store_.below().View([&](Transaction& txn) -> absl::Status {
        ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().GetByName("c001"));
        result = node.last_run_result;
        return absl::OkStatus();
      }));
      return result;
    };
    // As the engine leaves the record of a node that was away.
    ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().GetByName("c001"));
      node.last_run_id = paused.nodes(0).run_id();
      node.last_run_result = kRunMissed;
      return txn.nodes().Put(node);
    }));
    for (int i = 0; i < 5; ++i) cluster.Second();
    EXPECT_EQ(result(), kRunMissed) << "somebody may continue it";
    ASSERT_OK(cluster.manager_->Change(id, event, "", cluster.Ann()).status());
    ASSERT_TRUE(cluster.Await(id).has_finished_at());
    EXPECT_EQ(result(), "failed");
  }
}

TEST(RolloutManager, TwoRolloutsOverTheSameNodesExcludeEachOther) {
  Cluster cluster;
  cluster.work_ends_ = false;
  cluster.Create(cluster.Request());
  EXPECT_THAT(cluster.manager_->Create(cluster.Request(), cluster.Ann()),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST(RolloutManager, ARemovedNodeFreesItsSlot) {
  Cluster cluster;
  cluster.work_ends_ = false;
  const std::string id = cluster.Create(cluster.Request());
  for (int i = 0; i < 10; ++i) cluster.Second();
  ASSERT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_APPLYING);
  ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().GetByName("c001"));
    node.state = NodeRecord::kRemoved;
    return txn.nodes().Put(node);
  }));
  cluster.slurm_.nodes.erase("c001");
  cluster.work_ends_ = true;
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_EQ(ended.nodes(0).step(), v1::ROLLOUT_STEP_SKIPPED);
  EXPECT_EQ(ended.nodes(1).step(), v1::ROLLOUT_STEP_DONE);
}

// `muster node remove` takes it out of the inventory before it ends its membership.
TEST(RolloutManager, ANodeThatLeavesTheInventoryIsLeftOut) {
  for (const v1::RolloutStep step :
       {v1::ROLLOUT_STEP_PENDING, v1::ROLLOUT_STEP_APPLYING, v1::ROLLOUT_STEP_VALIDATING}) {
    SCOPED_TRACE(StepName(step));
    Cluster cluster;
    const int leaves = step == v1::ROLLOUT_STEP_PENDING ? 2 : 0;
    if (step == v1::ROLLOUT_STEP_APPLYING)
      cluster.refuse_runs_ = absl::FailedPreconditionError("run r-9 of admin:bob has c001");
    const std::string id = cluster.Create(cluster.Request());
    // The run of the last one has just ended.
    for (int i = 0; i < 10 && cluster.RunsOf("c001").empty(); ++i) cluster.Second();
    cluster.workers_ = leaves == 0 ? "c[002-003]" : "c[001-002]";
    cluster.SetInventory("");
    cluster.refuse_runs_ = absl::OkStatus();
    const v1::Rollout ended = cluster.Await(id);
    EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED) << ended.message();
    for (int i = 0; i < kNodes; ++i)
      EXPECT_EQ(ended.nodes(i).step(),
                i == leaves ? v1::ROLLOUT_STEP_SKIPPED : v1::ROLLOUT_STEP_DONE);
    EXPECT_EQ(ended.nodes(leaves).message(), "it was removed from the cluster");
    EXPECT_EQ(cluster.HoldCount(), 0);
  }
}

TEST(RolloutManager, WaitsWhileSlurmDoesNotAnswer) {
  Cluster cluster;
  const std::string id = cluster.Create(cluster.Request());
  cluster.slurm_.status = absl::UnavailableError("slurmctld does not answer");
  for (int i = 0; i < 20; ++i) cluster.Second();
  const v1::Rollout waiting = cluster.Get(id);
  for (const v1::RolloutNode& node : waiting.nodes())
    EXPECT_EQ(node.step(), v1::ROLLOUT_STEP_PENDING);
  cluster.slurm_.status = absl::OkStatus();
  EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_COMPLETED);
}

TEST(RolloutManager, WaitsForOtherWorkOnTheNode) {
  Cluster cluster;
  cluster.refuse_runs_ = absl::FailedPreconditionError("run r-9 of admin:bob has c001");
  const std::string id = cluster.Create(cluster.Request());
  for (int i = 0; i < 10; ++i) cluster.Second();
  EXPECT_EQ(cluster.Get(id).nodes(0).step(), v1::ROLLOUT_STEP_APPLYING);
  EXPECT_EQ(cluster.Get(id).nodes(0).message(), "waits: run r-9 of admin:bob has c001");
  cluster.refuse_runs_ = absl::OkStatus();
  EXPECT_EQ(cluster.Await(id).state(), v1::ROLLOUT_STATE_COMPLETED);
}

TEST(RolloutManager, ResumingNodesByHandIsRefusedWhileTheyAreUpdated) {
  Cluster cluster;
  cluster.work_ends_ = false;
  cluster.Create(cluster.Request());
  for (int i = 0; i < 10; ++i) cluster.Second();
  const auto resume = [&](const std::string& node) {
    return cluster.store_.below().Update([&](Transaction& txn) {
      return validation::FreeNodes(txn, {node}, {"admin:bob", ""}, "", cluster.clock_.Now());
    });
  };
  EXPECT_THAT(resume("c001"), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_OK(resume("c002"));
}

TEST(RolloutManager, WatchersSeeEveryEventOnceInOrder) {
  Cluster cluster;
  const std::string id = cluster.Create(cluster.Request());
  const auto live = cluster.manager_->Watch(id, 0, [] {});
  ASSERT_OK(live.status());
  const v1::Rollout ended = cluster.Await(id);
  for (const auto& watch : {*live, cluster.manager_->Watch(id, 0, [] {}).value()}) {
    int seen = 0;
    while (const auto event = watch->Next()) EXPECT_EQ(event->sequence(), ++seen);
    EXPECT_EQ(seen, ended.events_size());
    EXPECT_TRUE(watch->AtEnd());
  }
}

}  // namespace
}  // namespace muster::controller::rollout
