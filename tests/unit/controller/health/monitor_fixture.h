// A health monitor over the real store and gate, and a slurmctld in memory.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/status.h"
#include "common/value/node_reboot.h"
#include "controller/audit/audit.h"
#include "controller/gate/node_holds.h"
#include "controller/gate/node_pass.h"
#include "controller/gate/service_gate.h"
#include "controller/health/health_monitor.h"
#include "controller/notify/ledger.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/rollout.pb.h"
#include "muster/v1/validation.pb.h"
#include "tests/fakes/failing_store.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_slurm_control.h"
#include "tests/unit/controller/health/health_fixture.h"

namespace muster::controller::health {

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
        .reboot = {.start = [this](const std::string& node, const std::string& reason)
                       -> absl::StatusOr<std::string> { return StartReboot(node, reason); },
                   .call_off =
                       [this](const std::string& id, const std::string&) {
                         called_off_.push_back(id);
                         PutRollout(id, v1::ROLLOUT_STATE_ABORTED, v1::ROLLOUT_STEP_SKIPPED);
                         return absl::OkStatus();
                       }},
        .notify = [this](const Notice& notice) { Notify(notice); },
    });
    ASSERT_OK(monitor_->Resume());
  }

  // Into the store, too, as the controller does it.
  void Notify(const Notice& notice) {
    notices_.push_back(Line(notice));
    if (notice.is_breaker) return;
    notify::Notification told;
    told.kind = std::string(kConditionKind);
    told.nodes = notice.nodes;
    told.key = notice.condition;
    told.text = notice.text;
    told.resolved = notice.is_resolved;
    std::set<std::string> woken;
    EXPECT_OK(store_.below().Update(
        [&](Transaction& txn) { return notify::Record(txn, told, {}, clock_.Now(), &woken); }));
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
  // The monitor looks, begins what is due, and then the gate looks.
  void Look(absl::Duration later = absl::Seconds(1)) {
    clock_.Advance(later);
    monitor_->Step();
    monitor_->StepRemedies();
    EXPECT_OK(gate_->Reconcile());
  }
  // Time passes without a pause of the monitor's own.
  void LookFor(absl::Duration duration) {
    for (absl::Duration passed; passed < duration; passed += HealthMonitor::kIdleInterval)
      Look(HealthMonitor::kIdleInterval);
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
    if (while_starting_) while_starting_();
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
  absl::StatusOr<std::string> StartReboot(const std::string& node, const std::string& reason) {
    rebooted_.push_back(absl::StrCat(node, " ", reason));
    if (while_starting_) while_starting_();
    if (!may_start_.ok()) return may_start_;
    PutRollout("u-reboot", v1::ROLLOUT_STATE_ROLLING, v1::ROLLOUT_STEP_DRAINING);
    if (loses_rollout_) return absl::UnavailableError("the controller was killed");
    return "u-reboot";
  }
  // The rollout that reboots c2.
  void PutRollout(const std::string& id, v1::RolloutState state, v1::RolloutStep step) {
    EXPECT_OK(store_.below().Update([&](Transaction& txn) -> absl::Status {
      RolloutRecord rollout;
      if (const auto before = txn.rollouts().Get(id); before.ok()) {
        rollout = *before;
      } else {
        rollout.rollout_id = id;
        rollout.created_at = clock_.Now();
        rollout.created_by = ControllerActor().name;
        rollout.request = NodeRebootRequest(Name(2), "").SerializeAsString();
      }
      rollout.state = state;
      if (state >= v1::ROLLOUT_STATE_COMPLETED) rollout.finished_at = clock_.Now();
      RETURN_IF_ERROR(txn.rollouts().Put(rollout));
      RolloutNodeRecord node;
      node.rollout_id = id;
      node.node = Name(2);
      node.node_uuid = Uuid(2);
      node.step = step;
      return txn.rollouts().PutNode(node);
    }));
  }
  // The node comes back from the reboot, with these conditions.
  void ComeBack(const std::vector<v1::Condition>& conditions) {
    monitor_->OnDisconnected(Uuid(2));
    Look();
    monitor_->OnConnected(Uuid(2), v1::Hello());
    PutRollout("u-reboot", v1::ROLLOUT_STATE_COMPLETED, v1::ROLLOUT_STEP_DONE);
    Look();
    Turn(2, conditions);
    Look();
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

  ::muster::testing::FakeClock clock_;
  ::muster::testing::FailingStore store_{OpenStore(":memory:").value()};
  ::muster::testing::FakeAgentSessions sessions_;
  ::muster::testing::FakeSlurmControl slurm_;
  uint64_t revision_ = 0;
  std::shared_ptr<const Inventory> inventory_;
  std::unique_ptr<validation::ServiceGate> gate_;
  std::unique_ptr<HealthMonitor> monitor_;
  std::vector<std::string> notices_;
  std::vector<std::string> started_;   // validations
  std::vector<std::string> rebooted_;  // "c2 health: gpu_lost"
  std::vector<std::string> called_off_;
  bool loses_rollout_ = false;  // what StartReboot() has begun is not stored as begun
  absl::Status may_start_;
  std::function<void()> while_starting_;  // what happens while Slurm is asked
};

}  // namespace muster::controller::health
