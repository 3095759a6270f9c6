#include "controller/drift/drift_checks.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/claim/node_claims.h"
#include "controller/inventory/inventory.h"
#include "controller/run/run_engine.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/rollout.pb.h"
#include "muster/v1/run.pb.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::drift {
namespace {

using ::muster::testing::FakeAgentSessions;
using ::muster::testing::FakeClock;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kSite[] = "drift: {site: {playbook: site.yaml, every: 24h}}\n";
constexpr char kRepairing[] = "drift: {site: {playbook: site.yaml, every: 24h, repair: true}}\n";

// A login node and two workers, all connected; runs are rows of the store, and end when the test
// says so.
class DriftTest : public ::testing::Test, public InventorySource {
 protected:
  DriftTest() : store_(OpenStore(":memory:").value()) { SetInventory(kSite); }

  void SetUp() override {
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      for (const char* name : {"login1", "c001", "c002"}) {
        NodeRecord node;
        node.uuid = absl::StrCat("uuid-", name);
        node.name = name;
        node.state = NodeRecord::kConfigured;
        RETURN_IF_ERROR(txn.nodes().Put(node));
        sessions_.Connect(node.uuid);
      }
      return absl::OkStatus();
    }));
    Boot();
  }

  void SetInventory(const std::string& more) {
    absl::StatusOr<Inventory> parsed = ParseInventory(
        {{"cluster.yaml", absl::StrCat("cluster: lab\nnodes:\n  login1: {role: login}\n"
                                       "  c[001-002]: {role: compute}\n",
                                       more)}});
    ASSERT_OK(parsed.status());
    inventory_ = std::make_shared<const Inventory>(*std::move(parsed));
  }
  absl::StatusOr<InventoryVersion> Latest() override { return InventoryVersion{1, inventory_}; }
  absl::StatusOr<std::shared_ptr<const Inventory>> Get(uint64_t) override { return inventory_; }

  // A process begins; what the one before knew is in the store.
  void Boot() {
    checks_ = std::make_unique<DriftChecks>(DriftCollaborators{
        .store = *store_,
        .sessions = sessions_,
        .claims = claims_,
        .inventory = *this,
        .clock = clock_,
        .start_run = [this](const v1::CreateRunRequest& request,
                            const RunActor& actor) -> absl::Status {
          RETURN_IF_ERROR(refusal_);
          started_.push_back(request);
          return PutRun(request, actor.name, RunRecord::kRunning, {});
        },
        .start_rollout =
            [this](const v1::CreateRolloutRequest& request, const RunActor& actor) {
              repairs_.push_back(request);
              return PutRollout(request, actor.name);
            },
        .warn = [this](absl::string_view text) { warnings_.emplace_back(text); },
    });
  }

  absl::Status PutRun(const v1::CreateRunRequest& request, const std::string& by,
                      RunRecord::State state, const std::vector<RunNodeRecord>& nodes) {
    return store_->Update([&](Transaction& txn) -> absl::Status {
      RunRecord run;
      run.run_id = absl::StrCat("r-", ++last_id_);
      run.state = state;
      run.request = request.SerializeAsString();
      run.created_by = by;
      run.created_at = clock_.Now();
      if (state != RunRecord::kRunning) run.finished_at = clock_.Now();
      RETURN_IF_ERROR(txn.runs().Put(run));
      for (RunNodeRecord node : nodes) {
        node.run_id = run.run_id;
        RETURN_IF_ERROR(txn.runs().PutNode(node));
      }
      return absl::OkStatus();
    });
  }
  absl::Status PutRollout(const v1::CreateRolloutRequest& request, const std::string& by) {
    return store_->Update([&](Transaction& txn) -> absl::Status {
      RolloutRecord rollout;
      rollout.rollout_id = absl::StrCat("u-", ++last_id_);
      rollout.request = request.SerializeAsString();
      rollout.state = v1::ROLLOUT_STATE_ROLLING;
      rollout.created_by = by;
      rollout.created_at = clock_.Now();
      RETURN_IF_ERROR(txn.rollouts().Put(rollout));
      ASSIGN_OR_RETURN(const auto names, ExpandHostlist(request.limit()));
      for (uint32_t i = 0; i < names.size(); ++i) {
        RolloutNodeRecord node;
        node.rollout_id = rollout.rollout_id;
        node.node = names[i];
        node.position = i;
        node.step = v1::ROLLOUT_STEP_PENDING;
        RETURN_IF_ERROR(txn.rollouts().PutNode(node));
      }
      return absl::OkStatus();
    });
  }
  static RunNodeRecord Node(const std::string& name, const std::string& state = "done",
                            uint32_t changed = 0, const std::string& message = "") {
    RunNodeRecord node;
    node.node = name;
    node.node_uuid = absl::StrCat("uuid-", name);
    node.state = state;
    node.changed = changed;
    node.message = message;
    return node;
  }
  // Somebody applies the playbook to nodes.
  void Apply(const std::string& bundle, const std::vector<RunNodeRecord>& nodes,
             const std::string& variable = "") {
    v1::CreateRunRequest request;
    request.set_bundle_sha256(bundle);
    request.set_playbook("site.yaml");
    request.set_limit("what somebody wrote");
    request.set_plan_sha256("a plan file");
    if (!variable.empty()) (*request.mutable_extra_vars())[variable] = "1";
    ASSERT_OK(PutRun(request, "operator:bob", RunRecord::kSucceeded, nodes));
    clock_.Advance(absl::Seconds(1));
  }
  // The run in progress, mostly a check, ends with this.
  void EndRun(const std::vector<RunNodeRecord>& nodes) {
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(auto runs, txn.runs().ListRunning());
      EXPECT_THAT(runs, SizeIs(1));
      runs[0].state = RunRecord::kSucceeded;
      runs[0].finished_at = clock_.Now();
      RETURN_IF_ERROR(txn.runs().Put(runs[0]));
      for (RunNodeRecord node : nodes) {
        node.run_id = runs[0].run_id;
        RETURN_IF_ERROR(txn.runs().PutNode(node));
      }
      return absl::OkStatus();
    }));
    clock_.Advance(kLeastGap);
  }
  v1::DriftPolicy Policy() {
    const auto policies = checks_->List(nullptr);
    EXPECT_OK(policies.status());
    return policies.ok() && policies->size() == 1 ? policies->front() : v1::DriftPolicy();
  }
  // "c001 differs 2", in the order of the inventory.
  std::vector<std::string> States() {
    std::vector<std::string> states;
    const v1::DriftPolicy policy = Policy();
    for (const v1::NodeDrift& node : policy.nodes())
      states.push_back(absl::StrCat(node.node(), " ", v1::DriftState_Name(node.state()).substr(12),
                                    " ", node.changes()));
    return states;
  }

  FakeClock clock_;
  std::unique_ptr<Store> store_;
  FakeAgentSessions sessions_;
  NodeClaims claims_;
  std::shared_ptr<const Inventory> inventory_;
  std::unique_ptr<DriftChecks> checks_;
  std::vector<v1::CreateRunRequest> started_;
  std::vector<v1::CreateRolloutRequest> repairs_;
  std::vector<std::string> warnings_;
  absl::Status refusal_;
  int last_id_ = 0;
};

TEST_F(DriftTest, NothingIsComparedBeforeTheFirstApply) {
  checks_->Step();
  EXPECT_THAT(started_, IsEmpty());
  EXPECT_THAT(States(), ::testing::ElementsAre("login1 NOT_APPLIED 0", "c001 NOT_APPLIED 0",
                                               "c002 NOT_APPLIED 0"));
}

TEST_F(DriftTest, WhatWasAppliedIsCheckedAsItWasApplied) {
  Apply("bundle", {Node("login1"), Node("c001"), Node("c002", "failed")}, "stack");
  checks_->Step();
  ASSERT_THAT(started_, SizeIs(1));
  const v1::CreateRunRequest& check = started_[0];
  EXPECT_EQ(check.bundle_sha256(), "bundle");
  EXPECT_EQ(check.playbook(), "site.yaml");
  EXPECT_EQ(check.limit(), "c001,login1");
  EXPECT_EQ(check.extra_vars().at("stack"), "1");
  EXPECT_EQ(check.plan_sha256(), "");
  EXPECT_TRUE(check.check_only() && check.want_diff() && check.leave_out_busy() &&
              check.skip_validation() && check.keep_changes_only());
  checks_->Step();
  Boot();
  checks_->Step();
  EXPECT_THAT(started_, SizeIs(1)) << "the check is in progress, also after a restart";
  EndRun({Node("login1"), Node("c001", "done", 2)});
  EXPECT_THAT(States(), ::testing::ElementsAre("login1 AS_APPLIED 0", "c001 DIFFERS 2",
                                               "c002 NOT_APPLIED 0"));
  checks_->Step();
  EXPECT_THAT(started_, SizeIs(1));
  clock_.Advance(absl::Hours(24));
  checks_->Step();
  EXPECT_THAT(started_, SizeIs(2)) << "a day later";
}

TEST_F(DriftTest, EachNodeIsComparedWithItsOwnLastApply) {
  Apply("old", {Node("login1"), Node("c001"), Node("c002")});
  Apply("new", {Node("c002")});
  checks_->Step();
  EndRun({Node("login1"), Node("c001")});
  checks_->Step();
  ASSERT_THAT(started_, SizeIs(2));
  EXPECT_EQ(started_[0].bundle_sha256() + " " + started_[0].limit(), "old c001,login1");
  EXPECT_EQ(started_[1].bundle_sha256() + " " + started_[1].limit(), "new c002");
}

TEST_F(DriftTest, WhatIsKnownStaysKnownBehindThousandsOfNewerRuns) {
  Apply("bundle", {Node("login1"), Node("c001"), Node("c002")});
  checks_->Step();
  EndRun({Node("login1"), Node("c001", "done", 2), Node("c002")});
  for (int i = 0; i < 2100; ++i) Apply("new", {Node("c002")});
  const auto known =
      ::testing::ElementsAre("login1 AS_APPLIED 0", "c001 DIFFERS 2", "c002 NOT_CHECKED 0");
  EXPECT_THAT(States(), known);
  Boot();
  EXPECT_THAT(States(), known) << "also after a restart";
  clock_.Advance(absl::Hours(24));
  checks_->Step();
  EndRun({Node("c002")});
  checks_->Step();
  ASSERT_THAT(started_, SizeIs(3));
  EXPECT_EQ(started_[1].bundle_sha256() + " " + started_[1].limit(), "new c002");
  EXPECT_EQ(started_[2].bundle_sha256() + " " + started_[2].limit(), "bundle c001,login1");
}

TEST_F(DriftTest, ARunCountsWhenItHasEndedAlsoAfterNewerOnes) {
  v1::CreateRunRequest request;
  request.set_bundle_sha256("old");
  request.set_playbook("site.yaml");
  ASSERT_OK(PutRun(request, "operator:bob", RunRecord::kRunning, {}));
  Apply("new", {Node("c001")});
  EXPECT_THAT(States(), ::testing::ElementsAre("login1 NOT_APPLIED 0", "c001 NOT_CHECKED 0",
                                               "c002 NOT_APPLIED 0"));
  EndRun({Node("login1", "failed"), Node("c001"), Node("c002")});
  EXPECT_THAT(States(), ::testing::ElementsAre("login1 NOT_APPLIED 0", "c001 NOT_CHECKED 0",
                                               "c002 NOT_CHECKED 0"));
  EXPECT_EQ(Policy().nodes(1).applied_run_id(), "r-2");
  EXPECT_EQ(Policy().nodes(2).applied_run_id(), "r-1");
}

TEST_F(DriftTest, ANodeThatAPolicyIsGivenHasItsEarlierRuns) {
  SetInventory("drift: {site: {playbook: site.yaml, nodes: c001}}\n");
  Apply("bundle", {Node("login1"), Node("c001"), Node("c002")});
  EXPECT_THAT(States(), ::testing::ElementsAre("c001 NOT_CHECKED 0"));
  SetInventory(kSite);
  EXPECT_THAT(States(), ::testing::ElementsAre("login1 NOT_CHECKED 0", "c001 NOT_CHECKED 0",
                                               "c002 NOT_CHECKED 0"));
  SetInventory("drift: {site: {playbook: other.yaml}}\n");
  EXPECT_THAT(States(), ::testing::ElementsAre("login1 NOT_APPLIED 0", "c001 NOT_APPLIED 0",
                                               "c002 NOT_APPLIED 0"));
}

TEST_F(DriftTest, ACheckThatDidNotGetThroughIsUnknown) {
  Apply("bundle", {Node("c001"), Node("c002")});
  checks_->Step();
  EndRun({Node("c001", "unreachable"), Node("c002", "failed", 0, "apt: no space")});
  const v1::DriftPolicy policy = Policy();
  EXPECT_EQ(policy.nodes(1).state(), v1::DRIFT_STATE_UNKNOWN);
  EXPECT_EQ(policy.nodes(1).message(), "it did not answer");
  EXPECT_EQ(policy.nodes(2).message(), "apt: no space");
}

TEST_F(DriftTest, ARefusalIsToldOnceAndTriedAgain) {
  Apply("bundle", {Node("c001")});
  refusal_ = absl::PermissionDeniedError("bundle is not approved");
  for (int i = 0; i < 12; ++i) {
    checks_->Step();
    clock_.Advance(DriftChecks::kInterval);
  }
  EXPECT_THAT(warnings_, ::testing::ElementsAre("drift policy site: bundle is not approved"));
  EXPECT_EQ(Policy().message(), "bundle is not approved");
  refusal_ = absl::OkStatus();
  clock_.Advance(DriftChecks::kRetryInterval);
  checks_->Step();
  EXPECT_THAT(started_, SizeIs(1));
  EXPECT_EQ(Policy().message(), "");
}

TEST_F(DriftTest, NodesThatAreAwayOrHeldWait) {
  Apply("bundle", {Node("login1"), Node("c001"), Node("c002")});
  sessions_.Cut("uuid-c001");
  ASSERT_OK(
      claims_.Claim({.id = "r-9", .doing = "", .remedy = "", .since = clock_.Now()}, {"c002"}));
  checks_->Step();
  ASSERT_THAT(started_, SizeIs(1));
  EXPECT_EQ(started_[0].limit(), "login1");
}

TEST_F(DriftTest, WorkersThatDifferAreRepairedByARollout) {
  SetInventory(kRepairing);
  Apply("bundle", {Node("login1"), Node("c001"), Node("c002")});
  checks_->Step();
  EndRun({Node("login1", "done", 1), Node("c001", "done", 2), Node("c002")});
  checks_->Step();
  ASSERT_THAT(repairs_, SizeIs(1));
  EXPECT_EQ(repairs_[0].limit(), "c001");
  EXPECT_EQ(repairs_[0].bundle_sha256(), "bundle");
  EXPECT_EQ(repairs_[0].on_timeout(), v1::DRAIN_TIMEOUT_ACTION_SKIP);
  Boot();
  checks_->Step();
  EXPECT_THAT(repairs_, SizeIs(1)) << "it is in progress, also after a restart";
  EXPECT_THAT(Policy().message(), HasSubstr("login1"));
  EXPECT_EQ(Policy().nodes(1).repair_rollout_id().substr(0, 2), "u-");
}

TEST_F(DriftTest, ASelectionShowsItsNodes) {
  const std::set<std::string> only = {"c002"};
  const auto policies = checks_->List(&only);
  ASSERT_OK(policies.status());
  ASSERT_THAT(*policies, SizeIs(1));
  ASSERT_EQ(policies->front().nodes_size(), 1);
  EXPECT_EQ(policies->front().nodes(0).node(), "c002");
}

}  // namespace
}  // namespace muster::controller::drift
