// A small cluster around RolloutManager and UpdatePolicies, for tests: their world in one process.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/claim/node_claims.h"
#include "controller/gate/node_pass.h"
#include "controller/gate/service_gate.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/rollout_manager.h"
#include "controller/rollout/rollout_records.h"
#include "controller/rollout/update_policies.h"
#include "controller/run/run_engine.h"
#include "controller/run/run_records.h"
#include "controller/store/soci/store.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/plan_file.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"
#include "tests/fakes/failing_store.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_slurm_control.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::rollout {

using ::muster::testing::FailingStore;
using ::muster::testing::FakeAgentSessions;
using ::muster::testing::FakeClock;
using ::muster::testing::FakeSlurmControl;

inline constexpr int kNodes = 3;
inline constexpr char kOldBundle[] = "old";
inline constexpr char kNewBundle[] = "new";

// Three workers in service, the real gate over a slurmctld in memory, and runs and validations that
// are rows of the store, which end when the test says so.
class Cluster : public InventorySource {
 public:
  Cluster() : store_(OpenStore(":memory:").value()) {
    SetInventory("");
    EXPECT_OK(store_.below().Update([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(txn.inventory().Insert({1, clock_.Now(), "admin:ann", ""}));
      for (int i = 1; i <= kNodes; ++i) {
        NodeRecord node;
        node.uuid = Uuid(i);
        node.name = Name(i);
        node.state = NodeRecord::kConfigured;
        RETURN_IF_ERROR(txn.nodes().Put(node));
        RETURN_IF_ERROR(txn.nodes().PutFacts(node.uuid, v1::Facts().SerializeAsString()));
        RETURN_IF_ERROR(PutPass(txn, node.uuid));
      }
      return PutRun(txn, "r-first", RunRecord::kSucceeded, kOldBundle, "");
    }));
    for (int i = 1; i <= kNodes; ++i) {
      sessions_.Connect(Uuid(i));
      slurm_.Add(Name(i));
    }
    Boot();
  }

  // Puts another revision in force: the nodes, and `more`.
  void SetInventory(const std::string& more) {
    absl::StatusOr<Inventory> parsed =
        ParseInventory({{"cluster.yaml",
                         absl::StrCat("cluster: lab\nnodes:\n  login1: {role: login}\n  ", workers_,
                                      ": {role: compute}\n", others_, "racks:\n  r1: {nodes: \"",
                                      workers_, "\", switch: sw1}\n", more)}});
    ASSERT_OK(parsed.status());
    inventories_.push_back(std::make_shared<const Inventory>(*std::move(parsed)));
  }
  // A machine of the inventory becomes a member, and connects.
  void Join(const std::string& name, const std::string& uuid) {
    EXPECT_OK(store_.below().Update([&](Transaction& txn) -> absl::Status {
      NodeRecord node;
      node.uuid = uuid;
      node.name = name;
      node.state = NodeRecord::kConfigured;
      return txn.nodes().Put(node);
    }));
    sessions_.Connect(uuid);
  }
  // As `muster bundle approve`, or by a run.
  void Approve(const std::string& bundle, const std::string& run_id = "") {
    EXPECT_OK(store_.below().Update([&](Transaction& txn) -> absl::Status {
      BundleApprovalRecord approval;
      approval.sha256 = bundle;
      approval.path = "site.yaml";
      approval.run_id = run_id;
      approval.approved_by = "admin:ann";
      approval.approved_at = clock_.Now();
      return txn.bundle_approvals().Put(approval);
    }));
  }
  void Revoke(const std::string& bundle) {
    EXPECT_OK(store_.below().Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(auto approvals, txn.bundle_approvals().List(bundle));
      for (BundleApprovalRecord& approval : approvals) {
        approval.revoked_by = "admin:bob";
        approval.revoked_at = clock_.Now();
        RETURN_IF_ERROR(txn.bundle_approvals().Put(approval));
      }
      return absl::OkStatus();
    }));
  }
  // A run that somebody has made.
  void AddRun(const std::string& id, const std::string& bundle, const std::string& limit,
              const std::string& by) {
    EXPECT_OK(store_.below().Update([&](Transaction& txn) {
      return PutRun(txn, id, RunRecord::kSucceeded, bundle, limit, by);
    }));
  }
  // Runs of rollouts, of one node each.
  void AddNodeRuns(int count, const std::string& bundle) {
    EXPECT_OK(store_.below().Update([&](Transaction& txn) {
      for (int i = 0; i < count; ++i)
        RETURN_IF_ERROR(PutRun(txn, absl::StrCat("r-one-", i), RunRecord::kSucceeded, bundle,
                               Name(1), "admin:ann", /*applies=*/""));
      return absl::OkStatus();
    }));
  }

  static std::string Name(int i) { return absl::StrCat("c00", i); }
  static std::string Uuid(int i) { return absl::StrCat("uuid-", i); }

  // A process begins.
  void Boot() {
    store_.Revive();
    gate_ = std::make_unique<validation::ServiceGate>(
        store_, slurm_, clock_, [](absl::string_view) {},
        [this] {
          if (manager_ != nullptr) manager_->LookAgain();
        });
    manager_ = std::make_unique<RolloutManager>(Collaborators());
    policies_ = std::make_unique<UpdatePolicies>(Collaborators(), *manager_);
    // Its thread is not started: the test steps.
    ASSERT_OK(manager_->Resume());
  }
  void Kill() {
    policies_.reset();
    manager_.reset();
    gate_.reset();
  }

  // Everything that goes on in a second: the gate looks, runs and validations end, jobs too.
  void Second() {
    gate_->Reconcile().IgnoreError();
    ObserveSlurm();
    policies_->Step();
    manager_->Step();
    EndWork();
    clock_.Advance(absl::Seconds(1));
  }
  // Until the rollout has ended, is paused, or `most` seconds have passed; restarts a process that
  // has died.
  v1::Rollout Await(const std::string& id, int most = 300) {
    for (int i = 0; i < most; ++i) {
      if (store_.dead()) {
        Kill();
        Boot();
      }
      Second();
      const v1::Rollout now = Get(id);
      if (now.has_finished_at() || now.state() == v1::ROLLOUT_STATE_PAUSED) return now;
    }
    return Get(id);
  }

  v1::CreateRolloutRequest Request() {
    v1::CreateRolloutRequest request;
    request.set_bundle_sha256(kNewBundle);
    request.set_playbook("site.yaml");
    request.set_max_unavailable("1");
    return request;
  }
  RunActor Ann() {
    RunActor actor;
    actor.name = "admin:ann";
    return actor;
  }
  std::string Create(const v1::CreateRolloutRequest& request) {
    const auto made = manager_->Create(request, Ann());
    EXPECT_OK(made.status());
    return made.ok() ? made->rollout_id() : "";
  }
  v1::Rollout Get(const std::string& id) {
    v1::Rollout rollout;
    EXPECT_OK(store_.below().View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(rollout, ReadRollout(txn, id, /*with_events=*/true));
      return absl::OkStatus();
    }));
    return rollout;
  }
  // "APPLYING" and so on, in order.
  std::vector<std::string> WayOf(const v1::Rollout& rollout, const std::string& node) {
    std::vector<std::string> way;
    for (const v1::RolloutEvent& event : rollout.events()) {
      if (event.node() == node) way.push_back(std::string(StepName(event.step())));
    }
    return way;
  }
  std::vector<RunRecord> RunsOf(const std::string& node) {
    std::vector<RunRecord> found;
    EXPECT_OK(store_.below().View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto runs, txn.runs().List(1000));
      for (const RunRecord& run : runs) {
        if (controller::RequestOf(run).limit() == node) found.push_back(run);
      }
      return absl::OkStatus();
    }));
    return found;
  }
  // "ACTOR DETAIL" of these entries of the audit log, oldest first.
  std::vector<std::string> AuditedOf(const std::string& action) {
    std::vector<std::string> found;
    EXPECT_OK(store_.below().View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto events, txn.events().List(1000, 0));
      for (const EventRecord& event : events)
        if (event.action == action)
          found.insert(found.begin(), absl::StrCat(event.actor, " ", event.detail));
      return absl::OkStatus();
    }));
    return found;
  }
  int HoldCount() {
    int count = 0;
    EXPECT_OK(store_.below().View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto holds, txn.node_holds().List());
      count = static_cast<int>(holds.size());
      return absl::OkStatus();
    }));
    return count;
  }

  // Newest first.
  std::vector<v1::Rollout> Rollouts() {
    std::vector<v1::Rollout> all;
    EXPECT_OK(store_.below().View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto rows, txn.rollouts().List(1000));
      for (const RolloutRecord& row : rows) {
        ASSIGN_OR_RETURN(v1::Rollout rollout, ReadRollout(txn, row.rollout_id, false));
        all.push_back(std::move(rollout));
      }
      return absl::OkStatus();
    }));
    return all;
  }

  absl::StatusOr<InventoryVersion> Latest() override {
    return InventoryVersion{inventories_.size(), inventories_.back()};
  }
  absl::StatusOr<std::shared_ptr<const Inventory>> Get(uint64_t revision) override {
    if (revision == 0 || revision > inventories_.size()) return absl::NotFoundError("no revision");
    return inventories_[revision - 1];
  }

  FakeClock clock_;
  FailingStore store_;
  FakeSlurmControl slurm_;
  FakeAgentSessions sessions_;
  NodeClaims claims_;
  std::unique_ptr<validation::ServiceGate> gate_;
  std::unique_ptr<RolloutManager> manager_;
  std::unique_ptr<UpdatePolicies> policies_;
  std::vector<std::shared_ptr<const Inventory>> inventories_;  // the revisions from 1
  // What becomes of runs of a bundle, and of validations; by default they succeed and change.
  std::set<std::string> failing_bundles_, failing_nodes_, refused_bundles_;
  bool runs_change_ = true;
  std::string workers_ = "c[001-003]";  // of the inventory
  std::string others_;                  // further nodes of the inventory, as they stand in it
  bool work_ends_ = true;
  absl::Status refuse_runs_;
  absl::Status may_continue_;  // the creators of rollouts
  // The one plan file, whether it is still valid, and the nodes that it speaks of.
  v1::PlanFile plan_file_;
  absl::Status plan_holds_;
  std::vector<std::string> planned_;
  std::vector<std::pair<v1::CreateRunRequest, RunActor>> asked_runs_;
  std::string suite_ = "quick";
  int most_out_ = 0;  // workers that were out of service at once
  bool killed_a_job_ = false;

 private:
  static absl::Status PutPass(Transaction& txn, const std::string& uuid) {
    NodePassRecord pass;
    pass.node_uuid = uuid;
    pass.validation_id = "v-before";
    return txn.node_service().PutPass(pass);
  }
  absl::Status PutRun(Transaction& txn, const std::string& id, RunRecord::State state,
                      const std::string& bundle, const std::string& limit,
                      const std::string& by = "admin:ann",
                      const std::string& applies = "site.yaml") {
    RunRecord run;
    run.run_id = id;
    run.state = state;
    v1::CreateRunRequest request;
    request.set_bundle_sha256(bundle);
    request.set_playbook("site.yaml");
    request.set_limit(limit);
    run.request = request.SerializeAsString();
    run.created_by = by;
    run.inventory_revision = inventories_.size();
    run.applies = applies;
    run.created_at = clock_.Now();
    if (state != RunRecord::kRunning) run.finished_at = clock_.Now();
    return txn.runs().Put(run);
  }

  // A name that the inventory does not have is an error, as in the real engines.
  absl::StatusOr<std::vector<std::string>> NodesWithin(const std::string& limit) {
    std::vector<std::string> names;
    if (limit.empty()) {
      for (const Node& node : inventories_.back()->nodes()) names.push_back(node.name);
      return names;
    }
    ASSIGN_OR_RETURN(const auto nodes, Select(*inventories_.back(), limit));
    for (const Node* node : nodes) names.push_back(node->name);
    return names;
  }

  RolloutCollaborators Collaborators() {
    return {
        .store = store_,
        .sessions = sessions_,
        .slurm = slurm_,
        .gate = *gate_,
        .claims = claims_,
        .inventory = *this,
        .clock = clock_,
        .preview_run = [this](const v1::CreateRunRequest& request,
                              const RunActor&) -> absl::StatusOr<std::vector<std::string>> {
          if (refused_bundles_.count(request.bundle_sha256()) > 0)
            return absl::PermissionDeniedError("bundle old is not approved");
          if (!request.plan_sha256().empty()) return planned_;
          return NodesWithin(request.limit());
        },
        .start_run = [this](const v1::CreateRunRequest& request,
                            const RunActor& actor) { return StartRun(request, actor); },
        .plan_file = [this](const std::string&) -> absl::StatusOr<v1::PlanFile> {
          RETURN_IF_ERROR(plan_holds_);
          return plan_file_;
        },
        .suite_for = [this](const v1::CreateRolloutRequest&, const std::vector<std::string>&,
                            const Actor&) -> absl::StatusOr<std::string> { return suite_; },
        .start_validation =
            [this](const v1::CreateValidationRequest& request, const Actor& actor) {
              return StartValidation(request, actor.name);
            },
        .may_continue = [this](const RunMandate&) { return may_continue_; },
    };
  }

  absl::StatusOr<std::string> StartRun(const v1::CreateRunRequest& request, const RunActor& actor) {
    RETURN_IF_ERROR(refuse_runs_);
    RETURN_IF_ERROR(NodesWithin(request.limit()).status());
    asked_runs_.emplace_back(request, actor);
    const std::string& by = actor.name;
    if (!slurm_.jobs[request.limit()].empty()) killed_a_job_ = true;
    // The claims of the real engine.
    for (const RunRecord& run : RunsOf(request.limit())) {
      if (run.state == RunRecord::kRunning) return absl::FailedPreconditionError("busy");
    }
    const std::string id = absl::StrCat("r-", ++last_id_);
    // The real engine takes it from the plan file, too.
    const std::string& bundle =
        request.plan_sha256().empty() ? request.bundle_sha256() : plan_file_.bundle_sha256();
    RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(
          PutRun(txn, id, RunRecord::kRunning, bundle, request.limit(), by, /*applies=*/""));
      RunNodeRecord node;
      node.run_id = id;
      node.node = request.limit();
      node.state = "running";
      return txn.runs().PutNode(node);
    }));
    return id;
  }

  absl::StatusOr<std::string> StartValidation(const v1::CreateValidationRequest& request,
                                              const std::string& by) {
    RETURN_IF_ERROR(NodesWithin(request.nodes()).status());
    const std::string id = absl::StrCat("v-", ++last_id_);
    RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto running, txn.validations().ListRunning());
      for (const ValidationRecord& other : running) {
        ASSIGN_OR_RETURN(const auto nodes, txn.validations().ListNodes(other.validation_id));
        if (nodes[0].node == request.nodes()) return absl::FailedPreconditionError("busy");
      }
      ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().GetByName(request.nodes()));
      ValidationRecord validation;
      validation.validation_id = id;
      validation.suite = request.suite();
      validation.request = request.SerializeAsString();
      validation.created_by = by;
      validation.created_at = clock_.Now();
      RETURN_IF_ERROR(txn.validations().Put(validation));
      ValidationNodeRecord row;
      row.validation_id = id;
      row.node = request.nodes();
      row.node_uuid = node.uuid;
      return txn.validations().PutNode(row);
    }));
    return id;
  }

 public:
  // What runs and validations come to, in another process than the one that dies.
  void EndWork() {
    if (!work_ends_) return;
    std::vector<std::pair<std::string, v1::Outcome>> judged;
    EXPECT_OK(store_.below().Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto runs, txn.runs().ListRunning());
      for (RunRecord run : runs) {
        const v1::CreateRunRequest request = controller::RequestOf(run);
        const bool fails = failing_bundles_.count(request.bundle_sha256()) > 0;
        run.state = fails ? RunRecord::kFailed : RunRecord::kSucceeded;
        run.finished_at = clock_.Now();
        RETURN_IF_ERROR(txn.runs().Put(run));
        RunNodeRecord node;
        node.run_id = run.run_id;
        node.node = request.limit();
        node.state = fails ? "failed" : "done";
        node.changed = runs_change_;
        node.message = fails ? "step failed" : "";
        RETURN_IF_ERROR(txn.runs().PutNode(node));
      }
      ASSIGN_OR_RETURN(const auto running, txn.validations().ListRunning());
      for (ValidationRecord validation : running) {
        validation.state = ValidationRecord::kDone;
        RETURN_IF_ERROR(txn.validations().Put(validation));
        ASSIGN_OR_RETURN(auto nodes, txn.validations().ListNodes(validation.validation_id));
        for (ValidationNodeRecord& node : nodes) {
          const bool fails = failing_nodes_.count(node.node) > 0;
          node.outcome = fails ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS;
          RETURN_IF_ERROR(txn.validations().PutNode(node));
          if (fails) RETURN_IF_ERROR(txn.node_service().RemovePass(node.node_uuid));
          if (!fails) RETURN_IF_ERROR(PutPass(txn, node.node_uuid));
          judged.emplace_back(node.node_uuid, static_cast<v1::Outcome>(node.outcome));
          judged_by_[node.node_uuid] = validation.validation_id;
        }
      }
      return absl::OkStatus();
    }));
    for (const auto& [uuid, outcome] : judged) gate_->OnJudged(uuid, judged_by_[uuid], outcome);
  }

 private:
  void ObserveSlurm() {
    int out = 0;
    for (const auto& [name, node] : slurm_.nodes) out += !node.takes_jobs;
    most_out_ = std::max(most_out_, out);
  }

  int last_id_ = 0;
  std::map<std::string, std::string> judged_by_;
};

}  // namespace muster::controller::rollout
