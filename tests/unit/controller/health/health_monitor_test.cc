#include "controller/health/health_monitor.h"

#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/gate/node_holds.h"
#include "controller/gate/node_pass.h"
#include "controller/gate/service_gate.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/validation.pb.h"
#include "tests/fakes/failing_store.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_slurm_control.h"
#include "tests/unit/controller/health/health_fixture.h"

namespace muster::controller::health {
namespace {

using ::muster::testing::FailingStore;
using ::muster::testing::FakeAgentSessions;
using ::muster::testing::FakeClock;
using ::muster::testing::FakeSlurmControl;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Six workers in service, the real gate over a slurmctld in memory, and a monitor whose looks the
// test makes.
class HealthMonitorTest : public ::testing::Test {
 protected:
  static constexpr int kNodes = 6;

  void SetUp() override {
    SetPolicy("");
    EXPECT_OK(store_.below().Update([&](Transaction& txn) -> absl::Status {
      for (int i = 1; i <= kNodes; ++i) {
        NodeRecord node;
        node.uuid = Uuid(i);
        node.name = Name(i);
        node.state = NodeRecord::kConfigured;
        RETURN_IF_ERROR(txn.nodes().Put(node));
        RETURN_IF_ERROR(txn.nodes().PutFacts(node.uuid, v1::Facts().SerializeAsString()));
        RETURN_IF_ERROR(PutPass(txn, i, "acceptance"));
      }
      return absl::OkStatus();
    }));
    for (int i = 1; i <= kNodes; ++i) slurm_.Add(Name(i));
    Boot();
    for (int i = 1; i <= kNodes; ++i) Connect(i);
    Look();
  }

  void Boot() {
    monitor_.reset();
    gate_ =
        std::make_unique<validation::ServiceGate>(store_, slurm_, clock_, [](absl::string_view) {});
    EXPECT_OK(gate_->Reconcile());
    monitor_ = std::make_unique<HealthMonitor>(HealthCollaborators{
        .store = store_,
        .sessions = sessions_,
        .gate = *gate_,
        .clock = clock_,
        .latest_inventory =
            [this]() -> absl::StatusOr<std::pair<uint64_t, std::shared_ptr<const Inventory>>> {
          return std::make_pair(revision_, inventory_);
        },
        .start_validation = [this](const v1::CreateValidationRequest& request)
            -> absl::StatusOr<std::string> { return StartValidation(request); },
        .notify = [this](const Notice& notice) { notices_.push_back(notice.text); },
    });
    ASSERT_OK(monitor_->Resume());
  }

  static std::string Name(int i) { return absl::StrCat("c", i); }
  static std::string Uuid(int i) { return absl::StrCat("uuid-", i); }

  void SetPolicy(const std::string& policy) {
    ++revision_;
    inventory_ = std::make_shared<const Inventory>(Workers(kNodes, policy));
  }
  void Connect(int i) {
    sessions_.Connect(Uuid(i));
    monitor_->OnConnected(Uuid(i), v1::Hello());
    Turn(i, {});
  }
  void Turn(int i, const std::vector<v1::Condition>& conditions) {
    monitor_->OnHealth(Uuid(i), Report(conditions));
  }
  // The monitor looks, and then the gate.
  void Look(absl::Duration later = absl::Seconds(1)) {
    clock_.Advance(later);
    monitor_->Step();
    EXPECT_OK(gate_->Reconcile());
  }
  std::string ReasonOf(int i) { return slurm_.nodes[Name(i)].reason; }

  absl::Status PutPass(Transaction& txn, int i, const std::string& suite) {
    NodePassRecord pass;
    pass.node_uuid = Uuid(i);
    pass.validation_id = "v-before";
    pass.suite = suite;
    pass.passed_at = clock_.Now();
    validation::SetPassKeys(v1::Facts(), pass);
    return txn.node_service().PutPass(pass);
  }
  absl::StatusOr<std::string> StartValidation(const v1::CreateValidationRequest& request) {
    started_.push_back(
        absl::StrCat(request.suite(), " on ", request.nodes(), " with ", request.bundle_sha256()));
    if (!may_start_.ok()) return may_start_;
    PutValidation("v-retest", ValidationRecord::kRunning);
    return "v-retest";
  }
  void PutValidation(const std::string& id, ValidationRecord::State state,
                     v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED) {
    EXPECT_OK(store_.below().Update([&](Transaction& txn) -> absl::Status {
      ValidationRecord record;
      record.validation_id = id;
      record.state = state;
      record.suite = "acceptance";
      v1::CreateValidationRequest request;
      request.set_bundle_sha256("site");
      record.request = request.SerializeAsString();
      record.created_at = clock_.Now();
      if (state == ValidationRecord::kDone) record.finished_at = clock_.Now();
      RETURN_IF_ERROR(txn.validations().Put(record));
      ValidationNodeRecord node;
      node.validation_id = id;
      node.node = Name(2);
      node.node_uuid = Uuid(2);
      node.outcome = outcome;
      return txn.validations().PutNode(node);
    }));
  }
  v1::NodeHealth HealthOf(int i) {
    absl::StatusOr<HealthSummary> summary = monitor_->Summarize();
    EXPECT_OK(summary.status());
    for (v1::NodeHealth& node : summary->nodes) {
      if (node.node() == Name(i)) return node;
    }
    return {};
  }
  v1::HealthResponse ResponseOf(int i) {
    const v1::NodeHealth health = HealthOf(i);
    return health.conditions().empty() ? v1::HEALTH_RESPONSE_UNSPECIFIED
                                       : health.conditions(0).response();
  }
  // "health.drain c2", newest first.
  std::vector<std::string> Audited() {
    std::vector<std::string> actions;
    EXPECT_OK(store_.below().View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<EventRecord> events, txn.events().List(100, 0));
      for (const EventRecord& event : events)
        actions.push_back(absl::StrCat(event.action, " ", event.subject));
      return absl::OkStatus();
    }));
    return actions;
  }

  FakeClock clock_;
  FailingStore store_{OpenStore(":memory:").value()};
  FakeAgentSessions sessions_;
  FakeSlurmControl slurm_;
  uint64_t revision_ = 0;
  std::shared_ptr<const Inventory> inventory_;
  std::unique_ptr<validation::ServiceGate> gate_;
  std::unique_ptr<HealthMonitor> monitor_;
  std::vector<std::string> notices_;
  std::vector<std::string> started_;
  absl::Status may_start_;
};

TEST_F(HealthMonitorTest, ABadConditionDrainsItsNodeUntilItIsWell) {
  Turn(2, {Bad("gpu_lost", "GPU-1", "Xid 79")});
  Look();
  EXPECT_EQ(ReasonOf(2), "muster:health:gpu_lost GPU-1: Xid 79");
  EXPECT_EQ(ReasonOf(1), "");
  EXPECT_EQ(gate_->ServiceOf("c2"), "drained by gpu_lost: GPU-1: Xid 79");
  EXPECT_THAT(Audited(), Contains("health.drain c2"));
  EXPECT_THAT(notices_, ElementsAre("gpu_lost on c2: Xid 79; drained"));
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
  EXPECT_THAT(notices_,
              ElementsAre("gpu_lost on c2: Xid 79; drained", "gpu_lost on c2: well again"));
  EXPECT_EQ(HealthOf(2).status(), v1::CONDITION_STATUS_OK);
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
  Look(absl::Minutes(5));
  EXPECT_EQ(ReasonOf(2), "");
  EXPECT_EQ(HealthOf(1).conditions(0).condition().name(), "node_lost");
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
