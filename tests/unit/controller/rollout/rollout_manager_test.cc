#include "controller/rollout/rollout_manager.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "controller/claim/node_claims.h"
#include "controller/gate/node_holds.h"
#include "controller/gate/node_pass.h"
#include "controller/gate/service_gate.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/preparation.h"
#include "controller/rollout/rollout_records.h"
#include "controller/run/run_engine.h"
#include "controller/run/run_records.h"
#include "controller/store/soci/store.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"
#include "tests/fakes/failing_store.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_slurm_control.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::rollout {
namespace {

using ::muster::testing::FailingStore;
using ::muster::testing::FakeAgentSessions;
using ::muster::testing::FakeClock;
using ::muster::testing::FakeSlurmControl;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kNodes = 3;
constexpr char kOldBundle[] = "old";
constexpr char kNewBundle[] = "new";

// Three workers in service, the real gate over a slurmctld in memory, and runs and validations that
// are rows of the store, which end when the test says so.
class Cluster final : public InventorySource {
 public:
  Cluster() : store_(OpenStore(":memory:").value()) {
    inventory_ = std::make_shared<const Inventory>(
        ParseInventory({{"cluster.yaml",
                         "cluster: lab\nnodes:\n  login1: {role: login}\n"
                         "  c[001-003]: {role: compute}\n"
                         "racks:\n  r1: {nodes: \"c[001-003]\", switch: sw1}\n"}})
            .value());
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

  static std::string Name(int i) { return absl::StrCat("c00", i); }
  static std::string Uuid(int i) { return absl::StrCat("uuid-", i); }

  // A process begins.
  void Boot() {
    store_.Revive();
    gate_ =
        std::make_unique<validation::ServiceGate>(store_, slurm_, clock_, [](absl::string_view) {});
    manager_ = std::make_unique<RolloutManager>(Collaborators());
    // Its thread is not started: the test steps.
    ASSERT_OK(manager_->Resume());
  }
  void Kill() {
    manager_.reset();
    gate_.reset();
  }

  // Everything that goes on in a second: the gate looks, runs and validations end, jobs too.
  void Second() {
    gate_->Reconcile().IgnoreError();
    ObserveSlurm();
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
  int HoldCount() {
    int count = 0;
    EXPECT_OK(store_.below().View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto holds, txn.node_holds().List());
      count = static_cast<int>(holds.size());
      return absl::OkStatus();
    }));
    return count;
  }

  absl::StatusOr<InventoryVersion> Latest() override { return InventoryVersion{1, inventory_}; }
  absl::StatusOr<std::shared_ptr<const Inventory>> Get(uint64_t) override { return inventory_; }

  FakeClock clock_;
  FailingStore store_;
  FakeSlurmControl slurm_;
  FakeAgentSessions sessions_;
  NodeClaims claims_;
  std::unique_ptr<validation::ServiceGate> gate_;
  std::unique_ptr<RolloutManager> manager_;
  std::shared_ptr<const Inventory> inventory_;
  // What becomes of runs of a bundle, and of validations; by default they succeed and change.
  std::set<std::string> failing_bundles_, failing_nodes_, refused_bundles_;
  bool runs_change_ = true;
  bool work_ends_ = true;
  absl::Status refuse_runs_;
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
                      const std::string& bundle, const std::string& limit) {
    RunRecord run;
    run.run_id = id;
    run.state = state;
    v1::CreateRunRequest request;
    request.set_bundle_sha256(bundle);
    request.set_playbook("site.yaml");
    request.set_limit(limit);
    run.request = request.SerializeAsString();
    run.created_by = "admin:ann";
    run.created_at = clock_.Now();
    if (state != RunRecord::kRunning) run.finished_at = clock_.Now();
    return txn.runs().Put(run);
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
          if (request.limit().empty())
            return std::vector<std::string>{"login1", "c001", "c002", "c003"};
          return std::vector<std::string>{"c001"};
        },
        .start_run = [this](const v1::CreateRunRequest& request,
                            const RunActor&) { return StartRun(request); },
        .suite_for = [this](const v1::CreateRolloutRequest&, const std::vector<std::string>&,
                            const Actor&) -> absl::StatusOr<std::string> { return suite_; },
        .start_validation = [this](const v1::CreateValidationRequest& request,
                                   const Actor&) { return StartValidation(request); },
        .may_continue = [](const RunMandate&) { return absl::OkStatus(); },
    };
  }

  absl::StatusOr<std::string> StartRun(const v1::CreateRunRequest& request) {
    RETURN_IF_ERROR(refuse_runs_);
    if (!slurm_.jobs[request.limit()].empty()) killed_a_job_ = true;
    // The claims of the real engine.
    for (const RunRecord& run : RunsOf(request.limit())) {
      if (run.state == RunRecord::kRunning) return absl::FailedPreconditionError("busy");
    }
    const std::string id = absl::StrCat("r-", ++last_id_);
    RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(
          PutRun(txn, id, RunRecord::kRunning, request.bundle_sha256(), request.limit()));
      RunNodeRecord node;
      node.run_id = id;
      node.node = request.limit();
      node.state = "running";
      return txn.runs().PutNode(node);
    }));
    return id;
  }

  absl::StatusOr<std::string> StartValidation(const v1::CreateValidationRequest& request) {
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
      validation.created_by = "admin:ann";
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

  void ObserveSlurm() {
    int out = 0;
    for (const auto& [name, node] : slurm_.nodes) out += !node.takes_jobs;
    most_out_ = std::max(most_out_, out);
  }

  int last_id_ = 0;
  std::map<std::string, std::string> judged_by_;
};

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

TEST(RolloutManager, WithoutAChangeNothingIsValidated) {
  Cluster cluster;
  cluster.runs_change_ = false;
  const v1::Rollout ended = cluster.Await(cluster.Create(cluster.Request()));
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_COMPLETED);
  EXPECT_THAT(cluster.WayOf(ended, "c002"),
              ElementsAre("draining", "applying", "resuming", "done"));
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

TEST(RolloutManager, RollsBackByItselfWhereAsked) {
  Cluster cluster;
  cluster.failing_bundles_ = {kNewBundle};
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_on_failure(v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  const v1::Rollout ended = cluster.Await(cluster.Create(request));
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_ROLLED_BACK);
  EXPECT_EQ(cluster.Await(ended.rolled_back_by()).state(), v1::ROLLOUT_STATE_COMPLETED);
}

TEST(RolloutManager, ABundleThatMayNotBeRunIsNoWayBack) {
  Cluster cluster;
  cluster.failing_bundles_ = {kNewBundle};
  cluster.refused_bundles_ = {kOldBundle};
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_on_failure(v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK);
  const v1::Rollout ended = cluster.Await(cluster.Create(request));
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_ABORTED);
  EXPECT_TRUE(ended.rolled_back_by().empty());
  EXPECT_THAT(ended.message(), Said());
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

TEST(RolloutManager, PeoplesDrainsStay) {
  Cluster cluster;
  cluster.slurm_.DrainBy("root", "c001", "bad disk");
  ASSERT_OK(cluster.store_.below().Update([&](Transaction& txn) {
    return validation::HoldNodes(txn, {"c002"}, {"admin:bob", ""}, "bad fan", cluster.clock_.Now());
  }));
  v1::CreateRolloutRequest request = cluster.Request();
  request.set_max_unavailable("3");
  EXPECT_EQ(cluster.Await(cluster.Create(request)).state(), v1::ROLLOUT_STATE_COMPLETED);
  cluster.Second();
  EXPECT_EQ(cluster.gate_->ServiceOf("c001"), "drained by root: bad disk");
  EXPECT_EQ(cluster.gate_->ServiceOf("c002"), "drained by bob: bad fan");
  EXPECT_EQ(cluster.gate_->ServiceOf("c003"), "in service");
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

TEST(RolloutManager, AnAbortFinishesWhatItHasBegun) {
  Cluster cluster;
  cluster.work_ends_ = false;
  const std::string id = cluster.Create(cluster.Request());
  for (int i = 0; i < 10; ++i) cluster.Second();
  ASSERT_OK(cluster.manager_->Change(id, RolloutEvent::kAborted, "", cluster.Ann()).status());
  cluster.work_ends_ = true;
  const v1::Rollout ended = cluster.Await(id);
  EXPECT_EQ(ended.state(), v1::ROLLOUT_STATE_ABORTED);
  EXPECT_EQ(ended.nodes(0).step(), v1::ROLLOUT_STEP_DONE);
  EXPECT_EQ(ended.nodes(1).step(), v1::ROLLOUT_STEP_SKIPPED);
  EXPECT_THAT(cluster.manager_->Change(id, RolloutEvent::kResumed, "", cluster.Ann()),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
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
