#include "controller/notify/audit_tail.h"

#include "controller/audit/audit.h"
#include "controller/inventory/inventory.h"
#include "controller/notify/drift_notices.h"
#include "muster/v1/rollout.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"
#include "tests/unit/controller/notify/notify_fixture.h"

namespace muster::controller::notify {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AuditTailTest : public NotifyTest {
 protected:
  void Say(const std::string& action, const std::string& subject, const std::string& detail = "",
           const Actor& actor = ControllerActor()) {
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      return Audit(txn, clock_.Now(), actor, action, subject, detail);
    }));
  }
  // What is new since the last call.
  std::vector<NotificationRecord> Read() {
    EXPECT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      std::set<std::string> woken;
      return ReadAuditLog(txn, channels_, clock_.Now(), &woken).status();
    }));
    std::vector<NotificationRecord> rows;
    for (const NotificationDelivery& each : Pending("chat")) rows.push_back(each.notification);
    rows.erase(rows.begin(),
               rows.begin() + static_cast<ptrdiff_t>(std::exchange(seen_, rows.size())));
    return rows;
  }
  void PutRun(RunRecord::State state, bool is_check) {
    v1::CreateRunRequest request;
    request.set_playbook("playbooks/site.yaml");
    request.set_check_only(is_check);
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(txn.runs().Put({.run_id = "r-1",
                                      .state = state,
                                      .request = request.SerializeAsString(),
                                      .created_by = "admin:ann",
                                      .created_at = kNow}));
      RETURN_IF_ERROR(txn.runs().PutNode(
          {.run_id = "r-1", .node = "c001", .state = "failed", .message = "no disk"}));
      RETURN_IF_ERROR(txn.runs().PutNode({.run_id = "r-1", .node = "c002", .state = "done"}));
      return txn.runs().PutNode({.run_id = "r-1", .node = "c003", .state = "unreachable"});
    }));
  }
  // A check and how many changes each node would need; 0: it is as it was applied.
  void PutCheck(const std::string& id, const std::string& by,
                const std::vector<std::pair<std::string, uint32_t>>& nodes) {
    v1::CreateRunRequest request;
    request.set_playbook("playbooks/site.yaml");
    request.set_check_only(true);
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(txn.runs().Put({.run_id = id,
                                      .state = RunRecord::kSucceeded,
                                      .request = request.SerializeAsString(),
                                      .created_by = by,
                                      .created_at = clock_.Now()}));
      for (const auto& [node, changes] : nodes)
        RETURN_IF_ERROR(
            txn.runs().PutNode({.run_id = id, .node = node, .state = "done", .changed = changes}));
      return absl::OkStatus();
    }));
  }
  void PutRollout() {
    v1::CreateRolloutRequest request;
    request.set_playbook("playbooks/site.yaml");
    RolloutRecord rollout;
    rollout.rollout_id = "u-1";
    rollout.state = v1::ROLLOUT_STATE_PAUSED;
    rollout.request = request.SerializeAsString();
    rollout.created_at = kNow;
    RolloutNodeRecord node;
    node.rollout_id = "u-1";
    node.node = "c004";
    node.step = v1::ROLLOUT_STEP_FAILED;
    node.since = kNow;
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(txn.rollouts().Put(rollout));
      return txn.rollouts().PutNode(node);
    }));
  }

  size_t seen_ = 0;
};

TEST_F(AuditTailTest, WhatHappenedBeforeIsNoNews) {
  PutRun(RunRecord::kFailed, false);
  Say("run.finish", "r-1");
  EXPECT_THAT(Read(), IsEmpty());
  Say("run.finish", "r-1", "3 nodes, 2 failed or unreachable");
  EXPECT_THAT(Read(), SizeIs(1));
  EXPECT_THAT(Read(), IsEmpty()) << "it was told";
}

TEST_F(AuditTailTest, ARunThatFailed) {
  Read();
  PutRun(RunRecord::kFailed, false);
  Say("run.finish", "r-1", "3 nodes, 2 failed or unreachable");
  const auto rows = Read();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].kind, "run.failed");
  EXPECT_EQ(rows[0].nodes, "c[001,003]");
  EXPECT_EQ(rows[0].subject, "r-1");
  EXPECT_THAT(rows[0].text, AllOf(HasSubstr("playbooks/site.yaml"), HasSubstr("admin:ann"),
                                  HasSubstr("2 failed or unreachable")));
  EXPECT_THAT(rows[0].details, HasSubstr("c001: failed: no disk\n"));
}

TEST_F(AuditTailTest, RunsThatAreWellOrChecksTellNothing) {
  Read();
  PutRun(RunRecord::kSucceeded, false);
  Say("run.finish", "r-1");
  PutRun(RunRecord::kCancelled, false);
  Say("run.finish", "r-1");
  PutRun(RunRecord::kFailed, true);
  Say("run.finish", "r-1");
  Say("run.finish", "r-of-yore");
  Say("node.drain", "c001");
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(AuditTailTest, ANodeThatDiffersIsToldOnceAndResolvedByALaterCheck) {
  Read();
  PutCheck("r-1", "policy:drift/nightly", {{"c001", 3}, {"c002", 1}, {"c003", 0}});
  Say("run.finish", "r-1");
  auto rows = Read();
  ASSERT_THAT(rows, SizeIs(2)) << "each node by itself";
  EXPECT_EQ(rows[0].kind, "drift.differs");
  EXPECT_EQ(rows[0].nodes, "c001");
  EXPECT_EQ(rows[0].subject, "nightly");
  EXPECT_THAT(rows[0].text, HasSubstr("playbooks/site.yaml"));
  EXPECT_THAT(rows[0].details, HasSubstr("c001: 3 changes\n"));
  clock_.Advance(absl::Hours(24));
  PutCheck("r-2", "policy:drift/nightly", {{"c001", 2}, {"c002", 0}, {"c003", 0}});
  Say("run.finish", "r-2");
  rows = Read();
  ASSERT_THAT(rows, SizeIs(1)) << "that c001 differs is no news, and c003 is none";
  EXPECT_EQ(rows[0].nodes, "c002");
  EXPECT_TRUE(rows[0].resolved);
  // People's checks, and those of other policies, are other things.
  PutCheck("r-3", "admin:ann", {{"c001", 0}, {"c004", 1}});
  Say("run.finish", "r-3");
  PutCheck("r-4", "policy:nightly", {{"c004", 1}});
  Say("run.finish", "r-4");
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(AuditTailTest, WhatAPolicyDoesNotCompareAnyMoreIsResolved) {
  Read();
  PutCheck("r-1", "policy:drift/nightly", {{"c001", 1}, {"c002", 1}});
  Say("run.finish", "r-1");
  EXPECT_THAT(Read(), SizeIs(2));
  const auto apply = [&](const std::string& drift) {
    const absl::StatusOr<Inventory> inventory = ParseInventory(
        {{"f", absl::StrCat("cluster: lab\nnodes: {\"c[001-002]\": {role: compute}}\n", drift)}});
    ASSERT_OK(inventory);
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      std::set<std::string> woken;
      return EndDriftNotices(txn, *inventory, channels_, clock_.Now(), &woken);
    }));
  };
  apply("drift: {nightly: {playbook: playbooks/site.yaml, nodes: c001}}\n");
  auto rows = Read();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].nodes, "c002");
  EXPECT_TRUE(rows[0].resolved);
  apply("");
  rows = Read();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].nodes, "c001");
}

TEST_F(AuditTailTest, AValidationThatNodesFailed) {
  Read();
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(
        txn.validations().Put({.validation_id = "v-1", .suite = "acceptance", .created_at = kNow}));
    RETURN_IF_ERROR(txn.validations().PutNode({"v-1", "c001", "", v1::OUTCOME_FAIL}));
    return txn.validations().PutNode({"v-1", "c002", "", v1::OUTCOME_PASS});
  }));
  Say("validation.finish", "v-1", "1 passed, 1 failed, 0 unknown");
  const auto rows = Read();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].kind, "validation.failed");
  EXPECT_EQ(rows[0].nodes, "c001");
}

TEST_F(AuditTailTest, APausedUpdateIsResolvedWhenItContinues) {
  Read();
  PutRollout();
  Say("rollout.pause", "u-1", "2 nodes failed in a row");
  auto rows = Read();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].kind, "rollout.paused");
  EXPECT_EQ(rows[0].severity, static_cast<int>(Severity::kWarning));
  EXPECT_THAT(rows[0].text, AllOf(HasSubstr("2 nodes failed in a row"), HasSubstr("c004")));
  EXPECT_FALSE(rows[0].ended_at.has_value());
  Say("rollout.resume", "u-1", "", {"operator:bob", ""});
  rows = Read();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_TRUE(rows[0].resolved);
  Say("rollout.complete", "u-1");
  rows = Read();
  ASSERT_THAT(rows, SizeIs(1)) << "nothing was paused";
  EXPECT_EQ(rows[0].kind, "rollout.completed");
  EXPECT_EQ(rows[0].severity, static_cast<int>(Severity::kInfo));
}

TEST_F(AuditTailTest, AnAbortEndsAPause) {
  Read();
  PutRollout();
  Say("rollout.pause", "u-1", "", {"admin:ann", ""});
  EXPECT_EQ(Read()[0].severity, static_cast<int>(Severity::kInfo)) << "she knows why";
  Say("rollout.abort", "u-1");
  const auto rows = Read();
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_TRUE(rows[0].resolved);
  EXPECT_EQ(rows[1].kind, "rollout.aborted");
}

TEST_F(AuditTailTest, AClonedNodeIsCritical) {
  Read();
  Say("node.clone", "c007", "two machines use the identity of c007", NodeActor("uuid"));
  const auto rows = Read();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].kind, "node.cloned");
  EXPECT_EQ(rows[0].nodes, "c007");
  EXPECT_EQ(rows[0].severity, static_cast<int>(Severity::kCritical));
}

TEST_F(AuditTailTest, ALongLogIsReadInPieces) {
  Read();
  for (uint32_t i = 0; i < kMaxEvents + 1; ++i)
    Say("node.clone", absl::StrCat("c", i), "two machines");
  std::vector<bool> more;
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      std::set<std::string> woken;
      ASSIGN_OR_RETURN(const bool is_more, ReadAuditLog(txn, channels_, clock_.Now(), &woken));
      more.push_back(is_more);
      return absl::OkStatus();
    }));
  }
  EXPECT_THAT(more, ElementsAre(true, false));
  EXPECT_THAT(Pending("chat"), SizeIs(kMaxEvents + 1));
}

}  // namespace
}  // namespace muster::controller::notify
