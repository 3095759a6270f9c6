// Reboots and quarantines, as the monitor carries them out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/health/monitor_fixture.h"

namespace muster::controller::health {
namespace {

using ::muster::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Drain = HealthDrainRecord;

class HealthActionsTest : public HealthMonitorTest {
 protected:
  Drain Row() {
    Drain row;
    EXPECT_OK(store_.below().View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<Drain> drains, txn.health().ListDrains());
      for (const Drain& drain : drains) {
        if (drain.node_uuid == Uuid(2)) row = drain;
      }
      return absl::OkStatus();
    }));
    return row;
  }
  absl::Status Resume(const std::string& actor) {
    return store_.Update([&](Transaction& txn) {
      return validation::FreeNodes(txn, {"c2"}, {actor, ""}, "", clock_.Now());
    });
  }
  std::string NextOf(int i) { return HealthOf(i).conditions(0).next(); }
  // The controller was killed and is back, and c2's agent is connected.
  void Restart(const std::vector<v1::Condition>& conditions) {
    Boot();
    monitor_->OnConnected(Uuid(2), v1::Hello());
    Turn(2, conditions);
    Look();
  }

  static constexpr char kReboots[] =
      "health: {all: {conditions: {gpu_lost: reboot_once_then_drain}}}";
  static constexpr char kQuarantines[] = "health: {all: {conditions: {gpu_lost: quarantine}}}";
};

TEST_F(HealthActionsTest, ARebootHelps) {
  SetPolicy(kReboots);
  Turn(2, {Bad("gpu_lost", "GPU-1", "Xid 79")});
  Look();
  EXPECT_EQ(ReasonOf(2), "muster:health:gpu_lost GPU-1: Xid 79");
  EXPECT_EQ(Row().reboot, Drain::kDue);
  EXPECT_THAT(rebooted_, IsEmpty());
  Look();
  EXPECT_THAT(rebooted_, ElementsAre("c2 health: gpu_lost")) << "without a word of the node's";
  EXPECT_EQ(Row().rollout_id, "u-reboot");
  EXPECT_THAT(Audited(), Contains("health.reboot c2"));
  EXPECT_THAT(NextOf(2), HasSubstr("u-reboot"));
  for (int i = 0; i < 5; ++i) Look(absl::Minutes(1));
  EXPECT_THAT(rebooted_, SizeIs(1));
  ComeBack({});
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_RECOVERING);
  Look(absl::Minutes(5));
  EXPECT_EQ(ReasonOf(2), "");
  EXPECT_THAT(rebooted_, SizeIs(1));
  EXPECT_THAT(notices_, ElementsAre("c2: gpu_lost: Xid 79; drained, and to be rebooted once",
                                    "c2: gpu_lost: well again"));
}

TEST_F(HealthActionsTest, ARebootDoesNotHelp) {
  SetPolicy(kReboots);
  Turn(2, {Bad("gpu_lost", "GPU-1", "Xid 79")});
  Look();
  Look();
  ComeBack({Bad("gpu_lost", "GPU-1", "Xid 79")});
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOT_FAILED);
  EXPECT_EQ(ReasonOf(2), "muster:health:gpu_lost a reboot did not help: GPU-1: Xid 79");
  EXPECT_THAT(Audited(), Contains("health.reboot_failed c2"));
  EXPECT_THAT(notices_, Contains("c2: gpu_lost: Xid 79; drained: a reboot did not help"));
  Look(absl::Hours(1));
  EXPECT_THAT(rebooted_, SizeIs(1));
}

TEST_F(HealthActionsTest, ARestartBeforeTheRebootMakesIt) {
  SetPolicy(kReboots);
  Turn(2, {Bad("gpu_lost")});
  Look();
  ASSERT_EQ(Row().reboot, Drain::kDue);
  Restart({Bad("gpu_lost")});
  EXPECT_THAT(rebooted_, SizeIs(1));
  EXPECT_EQ(Row().reboot, Drain::kRunning);
}

TEST_F(HealthActionsTest, ARestartAfterItsRolloutWasCreatedMakesNoOther) {
  SetPolicy(kReboots);
  Turn(2, {Bad("gpu_lost")});
  Look();
  loses_rollout_ = true;
  Look();
  ASSERT_THAT(rebooted_, SizeIs(1));
  ASSERT_EQ(Row().rollout_id, "");
  Restart({Bad("gpu_lost")});
  EXPECT_THAT(rebooted_, SizeIs(1));
  EXPECT_EQ(Row().rollout_id, "u-reboot");
}

TEST_F(HealthActionsTest, ARestartDuringAndAfterTheRebootForgetsNothing) {
  SetPolicy(kReboots);
  Turn(2, {Bad("gpu_lost")});
  Look();
  Look();
  ASSERT_EQ(Row().reboot, Drain::kRunning);
  Boot();
  Look();
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOTING);
  PutRollout("u-reboot", v1::ROLLOUT_STATE_COMPLETED, v1::ROLLOUT_STEP_DONE);
  Boot();
  Look();
  EXPECT_EQ(Row().reboot, Drain::kDone);
  Restart({Bad("gpu_lost")});
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOT_FAILED);
  Restart({Bad("gpu_lost")});
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_REBOOT_FAILED);
  EXPECT_EQ(ReasonOf(2), "muster:health:gpu_lost a reboot did not help: seen");
  EXPECT_THAT(rebooted_, SizeIs(1));
}

TEST_F(HealthActionsTest, ARebootThatIsRefusedIsTriedAgain) {
  SetPolicy(kReboots);
  may_start_ = absl::FailedPreconditionError("rollout u-1 has c2");
  Turn(2, {Bad("gpu_lost")});
  Look();
  Look();
  EXPECT_THAT(rebooted_, SizeIs(1));
  EXPECT_THAT(NextOf(2), HasSubstr("rollout u-1 has c2"));
  Look();
  EXPECT_THAT(rebooted_, SizeIs(1)) << "not at once";
  may_start_ = absl::OkStatus();
  Look(absl::Minutes(1));
  EXPECT_THAT(rebooted_, SizeIs(2));
  EXPECT_EQ(Row().reboot, Drain::kRunning);
}

TEST_F(HealthActionsTest, ANodeThatAPersonHasDrainedIsNotRebooted) {
  SetPolicy(kReboots);
  slurm_.DrainBy("ann", "c2", "bad fan");
  Look();
  Turn(2, {Bad("gpu_lost")});
  for (int i = 0; i < 5; ++i) Look();
  EXPECT_THAT(rebooted_, IsEmpty());
  EXPECT_THAT(NextOf(2), HasSubstr("a person has drained it"));
  slurm_.nodes["c2"] = slurm_.nodes["c3"];
  slurm_.nodes["c2"].name = "c2";
  ASSERT_OK(store_.Update([&](Transaction& txn) {
    return validation::HoldNodes(txn, {"c2"}, {"admin:ann", ""}, "bad fan", clock_.Now());
  }));
  for (int i = 0; i < 5; ++i) Look();
  EXPECT_THAT(rebooted_, IsEmpty());
  EXPECT_OK(store_.Update(
      [&](Transaction& txn) { return txn.node_holds().Delete(Uuid(2), "admin:ann"); }));
  Look();
  Look();
  EXPECT_THAT(rebooted_, SizeIs(1));
}

TEST_F(HealthActionsTest, OneRebootServesAllConditionsOfANode) {
  SetPolicy(
      "health: {all: {conditions: {gpu_lost: reboot_once_then_drain, "
      "gpu_ecc: reboot_once_then_drain}}}");
  Turn(2, {Bad("gpu_lost"), Bad("gpu_ecc")});
  Look();
  Look();
  EXPECT_THAT(rebooted_, SizeIs(1));
  ComeBack({Bad("gpu_ecc")});
  EXPECT_EQ(HealthOf(2).conditions_size(), 2);
  Look(absl::Hours(1));
  EXPECT_THAT(rebooted_, SizeIs(1));
  EXPECT_THAT(ReasonOf(2), HasSubstr("gpu_ecc a reboot did not help"));
}

TEST_F(HealthActionsTest, ARebootIsCalledOffWithItsPolicy) {
  SetPolicy(kReboots);
  Turn(2, {Bad("gpu_lost")});
  Look();
  Look();
  SetPolicy("health: {all: {observe_only: true}}");
  Look();
  EXPECT_THAT(called_off_, ElementsAre("u-reboot"));
  EXPECT_EQ(ReasonOf(2), "");
  Look();
  EXPECT_THAT(called_off_, SizeIs(1));
}

TEST_F(HealthActionsTest, ANodeThatIsLetGoWhileItsRebootStartsIsNotRebooted) {
  SetPolicy(kReboots);
  Turn(2, {Bad("gpu_lost")});
  Look();
  while_starting_ = [this] {
    SetPolicy("health: {all: {observe_only: true}}");
    clock_.Advance(absl::Seconds(1));
    monitor_->Step();
  };
  Look();
  EXPECT_THAT(rebooted_, SizeIs(1));
  EXPECT_THAT(called_off_, ElementsAre("u-reboot"));
  EXPECT_EQ(Row().reboot, Drain::kNoReboot);
}

TEST_F(HealthActionsTest, OnlyAnAdministratorEndsAQuarantineAndNotTooEarly) {
  SetPolicy(kQuarantines);
  Turn(2, {Bad("gpu_lost", "GPU-1", "Xid 79")});
  Look();
  EXPECT_EQ(ReasonOf(2), "muster:health:gpu_lost quarantined: GPU-1: Xid 79");
  EXPECT_EQ(gate_->ServiceOf("c2"), "quarantined by gpu_lost: GPU-1: Xid 79");
  EXPECT_THAT(Audited(), Contains("health.quarantine c2"));
  EXPECT_THAT(Audited(), Not(Contains("health.drain c2")));
  EXPECT_THAT(notices_, ElementsAre("c2: gpu_lost: Xid 79; quarantined"));
  EXPECT_THAT(Resume("admin:ann"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                            HasSubstr("quarantined for gpu_lost")));
  EXPECT_THAT(Resume("operator:eve"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("quarantined for gpu_lost")));
  Turn(2, {});
  Look();
  EXPECT_THAT(Resume("admin:ann"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                            HasSubstr("quarantined for gpu_lost")));
  EXPECT_THAT(NextOf(2), HasSubstr("5m"));
  Look(absl::Minutes(5));
  EXPECT_THAT(NextOf(2), HasSubstr("muster node resume"));
  EXPECT_THAT(Resume("operator:eve"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("quarantined for gpu_lost")));
  // Whatever else happens, it stays.
  Look(absl::Hours(100));
  Restart({});
  EXPECT_EQ(ReasonOf(2), "muster:health:gpu_lost quarantined: GPU-1: Xid 79");
  EXPECT_OK(store_.Update([&](Transaction& txn) { return PutPass(txn, 2, "acceptance"); }));
  Look();
  EXPECT_NE(ReasonOf(2), "");
  EXPECT_OK(Resume("admin:ann"));
  Look();
  EXPECT_EQ(ReasonOf(2), "");
  EXPECT_EQ(ResponseOf(2), v1::HEALTH_RESPONSE_UNSPECIFIED);
}

TEST_F(HealthActionsTest, AQuarantineIsShownBeforeOtherHolds) {
  ASSERT_OK(store_.Update([&](Transaction& txn) {
    return validation::HoldNodes(txn, {"c2"}, {"admin:ann", ""}, "bad fan", clock_.Now());
  }));
  SetPolicy(kQuarantines);
  Turn(2, {Bad("gpu_lost")});
  Look();
  EXPECT_EQ(gate_->ServiceOf("c2"), "quarantined by gpu_lost: seen");
}

TEST_F(HealthActionsTest, AnAgentThatHasNotReportedIsAsked) {
  const auto asked = [&](int i) {
    int count = 0;
    for (const v1::ControllerMessage& message : sessions_.Take(Uuid(i)))
      count += message.has_ask_health();
    return count;
  };
  Look(Fleet::kReportPatience);
  EXPECT_EQ(asked(2), 0) << "it has reported";
  monitor_->OnConnected(Uuid(2), v1::Hello());
  Look();
  EXPECT_EQ(asked(2), 0) << "it may yet";
  Look(Fleet::kReportPatience);
  EXPECT_EQ(asked(2), 1);
  Look();
  EXPECT_EQ(asked(2), 0) << "not in every look";
  Look(Fleet::kReportPatience);
  EXPECT_EQ(asked(2), 1);
  Turn(2, {});
  Look(Fleet::kReportPatience);
  EXPECT_EQ(asked(2), 0);
  // One of an earlier version never answers.
  monitor_->OnConnected(Uuid(3), v1::Hello());
  int count = 0;
  for (int i = 0; i < 20; ++i) {
    Look(Fleet::kReportPatience);
    count += asked(3);
  }
  EXPECT_EQ(count, Fleet::kAsks);
}

TEST_F(HealthActionsTest, NewsOfANewMemberOutlastAStoreThatCannotBeRead) {
  EXPECT_OK(store_.below().Update([&](Transaction& txn) -> absl::Status {
    NodeRecord node;
    node.uuid = Uuid(7);
    node.name = "c6";
    ASSIGN_OR_RETURN(NodeRecord before, txn.nodes().Get(Uuid(6)));
    before.state = NodeRecord::kRemoved;
    RETURN_IF_ERROR(txn.nodes().Put(before));
    node.state = NodeRecord::kConfigured;
    return txn.nodes().Put(node);
  }));
  store_.Refuse(1, 100);
  monitor_->OnConnected(Uuid(7), v1::Hello());
  Turn(7, {Bad("disk_full")});
  clock_.Advance(absl::Seconds(1));
  monitor_->Step();
  store_.Refuse(0, 0);
  Look();
  EXPECT_THAT(HealthOf(6).conditions(), SizeIs(1));
}

}  // namespace
}  // namespace muster::controller::health
