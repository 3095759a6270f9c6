#include "controller/health/health_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/health/monitor_fixture.h"

namespace muster::controller::health {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(HealthMonitorTest, ABadConditionDrainsItsNodeUntilItIsWell) {
  Turn(2, {Bad("gpu_lost", "GPU-1", "Xid 79")});
  Look();
  EXPECT_EQ(ReasonOf(2), "muster:health:gpu_lost GPU-1: Xid 79");
  EXPECT_EQ(ReasonOf(1), "");
  EXPECT_EQ(gate_->ServiceOf("c2"), "drained by gpu_lost: GPU-1: Xid 79");
  EXPECT_THAT(Audited(), Contains("health.drain c2"));
  EXPECT_THAT(notices_, ElementsAre("c2: gpu_lost: Xid 79; drained"));
  const v1::NodeHealth health = HealthOf(2);
  EXPECT_EQ(health.status(), v1::CONDITION_STATUS_BAD);
  EXPECT_TRUE(health.conditions(0).has_drained_at());
  Turn(2, {});
  Look();
  EXPECT_NE(ReasonOf(2), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_RECOVERING);
  Look(absl::Minutes(5));
  EXPECT_EQ(ReasonOf(2), "");
  EXPECT_THAT(Audited(), Contains("health.resume c2"));
  EXPECT_THAT(notices_, ElementsAre("c2: gpu_lost: Xid 79; drained", "c2: gpu_lost: well again"));
  EXPECT_EQ(HealthOf(2).status(), v1::CONDITION_STATUS_OK);
}

TEST_F(HealthMonitorTest, AFileSystemIsWellWhenItIsMountedAnew) {
  Turn(2, {Bad("disk_readonly", "/data")});
  Turn(3, {Bad("machine_check")});
  Look();
  EXPECT_THAT(HealthOf(2).conditions(0).next(),
              AllOf(HasSubstr("mounted anew"), HasSubstr("after a reboot")));
  EXPECT_THAT(HealthOf(3).conditions(0).next(),
              AllOf(HasSubstr("after a reboot"), Not(HasSubstr("mounted anew"))));
}

TEST_F(HealthMonitorTest, ADiskIsWellWhenItSaysSo) {
  SetPolicy("health: {all: {conditions: {disk_health: drain}}}");
  Turn(2, {Bad("disk_health", "sdb")});
  Look();
  EXPECT_THAT(HealthOf(2).conditions(0).next(),
              AllOf(HasSubstr("when the disk says that it is well"), HasSubstr("after a reboot")));
}

TEST_F(HealthMonitorTest, ARestartForgetsNothing) {
  Turn(2, {Bad("gpu_lost")});
  Look();
  Boot();
  Look();
  EXPECT_NE(ReasonOf(2), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_DRAINED);
  EXPECT_EQ(HealthOf(2).conditions(0).condition().evidence(), "seen") << "its last words";
  EXPECT_THAT(notices_, SizeIs(1)) << "somebody has heard of it";
  // Nodes have some time to come back before they are lost.
  EXPECT_EQ(HealthOf(1).conditions_size(), 0);
  Connect(2);
  Look();
  LookFor(absl::Minutes(5));
  EXPECT_EQ(ReasonOf(2), "");
  ASSERT_EQ(HealthOf(1).conditions_size(), 1);
  EXPECT_EQ(HealthOf(1).conditions(0).condition().name(), "node_lost");
}

TEST_F(HealthMonitorTest, ANodeThatIsBackAfterARestartIsToldToBe) {
  sessions_.Cut(Uuid(3));
  monitor_->OnDisconnected(Uuid(3));
  LookFor(absl::Seconds(20));
  EXPECT_THAT(notices_, ElementsAre("c3: node_lost: the agent does not answer"));
  Boot();
  Look();
  EXPECT_THAT(notices_, SizeIs(1)) << "it may be on its way";
  Connect(3);
  Look();
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("node_lost"), "c3: node_lost: well again"));
}

TEST_F(HealthMonitorTest, APauseOfTheControllerOrASetClockMakesNoNodeLost) {
  for (const absl::Duration jump : {absl::Minutes(1), absl::Hours(1), -absl::Hours(24 * 365)}) {
    SCOPED_TRACE(absl::FormatDuration(jump));
    Boot();
    for (int i = 1; i <= kNodes; ++i) Connect(i);
    Look();
    notices_.clear();
    monitor_->OnDisconnected(Uuid(3));
    Look();
    monitor_->OnDisconnected(Uuid(4));
    Look(jump);
    monitor_->OnDisconnected(Uuid(5));
    LookFor(absl::Seconds(50));
    EXPECT_THAT(notices_, IsEmpty());
    EXPECT_EQ(HealthOf(3).conditions_size(), 0);
    Connect(4);
    Connect(5);
    LookFor(absl::Seconds(40));
    EXPECT_THAT(notices_, ElementsAre("c3: node_lost: the agent does not answer"));
    Connect(3);
    Look();
  }
}

TEST_F(HealthMonitorTest, AClockThatIsSetSoonAfterTheStartMakesNoNodeLost) {
  Boot();
  Look();
  Look(absl::Hours(1));
  LookFor(absl::Seconds(30));
  EXPECT_THAT(notices_, IsEmpty());
  for (int i = 1; i <= kNodes; ++i) Connect(i);
  LookFor(absl::Minutes(2));
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(HealthMonitorTest, ASlurmThatHangsHoldsNoDrainUp) {
  SetPolicy("health: {all: {retest: acceptance, good_time: 1m, breaker: {max_drained: 6}}}");
  PutValidation("v-before", ValidationRecord::kDone, v1::OUTCOME_PASS);
  for (int i = 1; i < kNodes; ++i) Turn(i, {Bad("gpu_lost")});
  Look();
  for (int i = 1; i < kNodes; ++i) Turn(i, {});
  Look();
  int drained_meanwhile = 0;
  may_start_ = absl::FailedPreconditionError("Slurm does not answer");
  while_starting_ = [&] {
    clock_.Advance(absl::Seconds(35));
    Turn(kNodes, {Bad("gpu_lost")});
    for (int look = 0; look < 2; ++look) {
      clock_.Advance(absl::Seconds(1));
      monitor_->Step();
    }
    EXPECT_OK(gate_->Reconcile());
    drained_meanwhile += static_cast<int>(!ReasonOf(kNodes).empty());
  };
  Look(absl::Minutes(1));
  EXPECT_THAT(started_, SizeIs(kNodes - 1)) << "each once";
  EXPECT_EQ(drained_meanwhile, kNodes - 1);
}

TEST_F(HealthMonitorTest, ANodeThatTurnsBadWhileItsTestStartsStaysBad) {
  SetPolicy("health: {all: {retest: acceptance, good_time: 1m}}");
  PutValidation("v-before", ValidationRecord::kDone, v1::OUTCOME_PASS);
  Turn(2, {Bad("gpu_lost")});
  Look();
  Turn(2, {});
  Look();
  while_starting_ = [&] {
    Turn(2, {Bad("gpu_lost")});
    clock_.Advance(absl::Seconds(1));
    monitor_->Step();
  };
  Look(absl::Minutes(1));
  ASSERT_THAT(started_, SizeIs(1));
  EXPECT_OK(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto drains, txn.health().ListDrains());
    EXPECT_THAT(drains, SizeIs(1));
    EXPECT_EQ(drains[0].validation_id, "v-retest");
    EXPECT_EQ(drains[0].good_since, std::nullopt);
    return absl::OkStatus();
  }));
}

TEST_F(HealthMonitorTest, WhatNobodyHasHeardOfBeforeARestartIsToldAfterIt) {
  ASSERT_OK(store_.below().Update([&](Transaction& txn) -> absl::Status {
    return txn.node_holds().Put({Uuid(2), "u-1", "being updated", clock_.Now(), false});
  }));
  Turn(2, {Bad("disk_full")});
  Look();
  EXPECT_THAT(notices_, IsEmpty()) << "somebody works on it";
  Boot();
  for (int i = 1; i <= kNodes; ++i) sessions_.Connect(Uuid(i));
  for (int i = 1; i <= kNodes; ++i) monitor_->OnConnected(Uuid(i), v1::Hello());
  Turn(2, {Bad("disk_full")});
  Look();
  EXPECT_THAT(notices_, IsEmpty());
  ASSERT_OK(store_.below().Update(
      [&](Transaction& txn) { return txn.node_holds().Delete(Uuid(2), "u-1"); }));
  Look();
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("c2: disk_full")));
}

TEST_F(HealthMonitorTest, APersonsDrainIsNeverTouched) {
  slurm_.DrainBy("ann", "c2", "bad fan");
  Turn(2, {Bad("gpu_lost")});
  Look();
  Turn(2, {});
  Look();
  Look(absl::Minutes(5));
  EXPECT_EQ(ReasonOf(2), "bad fan");
  EXPECT_THAT(slurm_.calls, Not(Contains(HasSubstr("c2"))));
  // Nor one by `muster node drain`, which stays when the condition's own has ended.
  ASSERT_OK(store_.Update([&](Transaction& txn) {
    return validation::HoldNodes(txn, {"c3"}, {"admin:ann", ""}, "bad disk", clock_.Now());
  }));
  Turn(3, {Bad("gpu_lost")});
  Look();
  Turn(3, {});
  Look();
  Look(absl::Minutes(5));
  EXPECT_EQ(ReasonOf(3), "muster:admin:ann bad disk");
}

TEST_F(HealthMonitorTest, APersonMayResumeABadNode) {
  Turn(2, {Bad("gpu_lost")});
  Look();
  ASSERT_OK(store_.Update([&](Transaction& txn) {
    return validation::FreeNodes(txn, {"c2"}, {"admin:ann", ""}, "known", clock_.Now());
  }));
  Look();
  Look(absl::Hours(1));
  EXPECT_EQ(ReasonOf(2), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_ACKNOWLEDGED);
}

TEST_F(HealthMonitorTest, ANodeReturnsWhenItHasPassedTheSuite) {
  SetPolicy("health: {all: {retest: acceptance, good_time: 1m}}");
  PutValidation("v-before", ValidationRecord::kDone, v1::OUTCOME_PASS);
  Turn(2, {Bad("gpu_lost")});
  Look();
  Turn(2, {});
  Look();
  may_start_ = absl::FailedPreconditionError("job 17 is running on c2");
  Look(absl::Minutes(1));
  EXPECT_THAT(started_, ElementsAre("acceptance on c2 with site"));
  EXPECT_THAT(HealthOf(2).conditions(0).next(), HasSubstr("job 17"));
  may_start_ = absl::OkStatus();
  Look(absl::Minutes(1));
  EXPECT_THAT(started_, SizeIs(2));
  Look(absl::Minutes(1));
  EXPECT_THAT(started_, SizeIs(2)) << "it is running";
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_RETESTING);
  PutValidation("v-retest", ValidationRecord::kDone, v1::OUTCOME_PASS);
  ASSERT_OK(store_.Update([&](Transaction& txn) { return PutPass(txn, 2, "acceptance"); }));
  Look();
  EXPECT_EQ(HealthOf(2).status(), v1::CONDITION_STATUS_OK);
  Look();
  EXPECT_EQ(ReasonOf(2), "");
}

TEST_F(HealthMonitorTest, AFailedTestIsNotRepeatedUntilItPassesByChance) {
  SetPolicy("health: {all: {retest: acceptance, good_time: 1m}}");
  PutValidation("v-before", ValidationRecord::kDone, v1::OUTCOME_PASS);
  Turn(2, {Bad("gpu_lost")});
  Look();
  Turn(2, {});
  Look();
  Look(absl::Minutes(1));
  EXPECT_THAT(started_, SizeIs(1));
  PutValidation("v-retest", ValidationRecord::kDone, v1::OUTCOME_FAIL);
  for (int i = 0; i < 50; ++i) Look(absl::Minutes(5));
  EXPECT_THAT(started_, SizeIs(1));
  EXPECT_THAT(HealthOf(2).conditions(0).next(), HasSubstr("failed v-retest"));
}

TEST_F(HealthMonitorTest, AgentsGetTheirSettings) {
  const auto settings = [&](int i) {
    std::vector<v1::HealthSettings> all;
    for (const v1::ControllerMessage& message : sessions_.Take(Uuid(i))) {
      if (message.has_health_settings()) all.push_back(message.health_settings());
    }
    return all;
  };
  EXPECT_THAT(settings(1), SizeIs(1)) << "after Welcome";
  Look(absl::Minutes(1));
  EXPECT_THAT(settings(1), IsEmpty());
  SetPolicy(
      "health: {all: {disabled: [nic_errors], limits: {disk_full.percent: 90}, "
      "xid_actions: {43: ignore}, site_conditions: {scratch_quota: {argv: [/bin/check, a]}}}}");
  sessions_.Clog(Uuid(1), true);
  Look(absl::Minutes(1));
  sessions_.Clog(Uuid(1), false);
  Look();
  const std::vector<v1::HealthSettings> sent = settings(1);
  ASSERT_THAT(sent, SizeIs(1)) << "again once it reads";
  EXPECT_THAT(sent[0].disabled(), ElementsAre("nic_errors"));
  EXPECT_EQ(sent[0].limits().at("disk_full.percent"), "90");
  EXPECT_EQ(sent[0].xid_actions().at(43), "ignore");
  ASSERT_THAT(sent[0].conditions(), SizeIs(1));
  EXPECT_THAT(sent[0].conditions(0).argv(), ElementsAre("/bin/check", "a"));
}

TEST_F(HealthMonitorTest, AFullDiskDelaysAndLosesNothing) {
  store_.refuse = true;
  Turn(2, {Bad("gpu_lost")});
  Look();
  EXPECT_EQ(ReasonOf(2), "");
  store_.refuse = false;
  Look();
  Look();
  EXPECT_NE(ReasonOf(2), "");
  EXPECT_OK(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto events, txn.health().ListEvents("c2", "gpu_lost", 10));
    EXPECT_THAT(events, SizeIs(1));
    return absl::OkStatus();
  }));
}

// Whoever asks for the status twice a second gets no view of thousands of nodes that are well.
TEST_F(HealthMonitorTest, NodesThatAreWellAddNothingToProblemsAndBreakers) {
  SetPolicy("health: {all: {breaker: {max_drained: 1}}}");
  Turn(2, {Bad("gpu_lost")});
  Look();
  Turn(3, {Bad("gpu_lost")});
  Look();
  Turn(2, {});
  sessions_.Cut(Uuid(4));
  monitor_->OnDisconnected(Uuid(4));
  LookFor(absl::Seconds(30));
  const auto all = monitor_->Summarize();
  const auto some = monitor_->Summarize(/*all_nodes=*/false);
  ASSERT_OK(all);
  ASSERT_OK(some);
  EXPECT_THAT(all->nodes, SizeIs(kNodes));
  ASSERT_THAT(some->nodes, SizeIs(3)) << "held but well, bad behind the breaker, lost";
  EXPECT_EQ(some->nodes[0].conditions(0).response(), v1::HEALTH_RESPONSE_RECOVERING);
  EXPECT_EQ(some->nodes[1].conditions(0).response(), v1::HEALTH_RESPONSE_BREAKER);
  EXPECT_EQ(some->nodes[2].conditions(0).condition().name(), "node_lost");
  EXPECT_THAT(some->problems, SizeIs(3));
  ASSERT_EQ(some->problems.size(), all->problems.size());
  for (size_t i = 0; i < all->problems.size(); ++i)
    EXPECT_EQ(some->problems[i].SerializeAsString(), all->problems[i].SerializeAsString());
  ASSERT_THAT(some->breakers, SizeIs(1));
  EXPECT_TRUE(some->breakers[0].has_open_since());
  ASSERT_THAT(all->breakers, SizeIs(1));
  EXPECT_EQ(some->breakers[0].SerializeAsString(), all->breakers[0].SerializeAsString());
}

TEST_F(HealthMonitorTest, ARemovedNodeLeavesNothingBehind) {
  Turn(2, {Bad("gpu_lost")});
  Look();
  EXPECT_OK(store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get(Uuid(2)));
    node.state = NodeRecord::kRemoved;
    return txn.nodes().Put(node);
  }));
  Look(absl::Minutes(1));
  Look();
  EXPECT_OK(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto drains, txn.health().ListDrains());
    ASSIGN_OR_RETURN(const auto holds, txn.node_holds().List());
    EXPECT_THAT(drains, IsEmpty());
    EXPECT_THAT(holds, IsEmpty());
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace muster::controller::health
