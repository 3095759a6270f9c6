// Operators run only what an administrator has applied: every way to start a run enforces this.
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/value/plan_file.h"
#include "controller/run/plan/earlier_approvals.h"
#include "controller/run/run_engine.h"
#include "controller/run/run_records.h"
#include "muster/v1/plan.pb.h"
#include "muster/v1/plan_file.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RunApprovalsTest : public RunFixture {
 protected:
  void SetUp() override {
    RunFixture::SetUp();
    Hold();
  }
  void Hold() {
    approvals_ = std::make_unique<BundleApprovals>(*store_, clock_, Collaborators().load_bundle,
                                                   /*is_strict=*/true);
    Restart();
  }
  absl::Status Create(const std::string& actor, const v1::CreateRunRequest& request) {
    const auto run = engine_->Create(request, {{actor, ""}});
    if (!run.ok()) return run.status();
    const absl::Status cancelled = engine_->Cancel(run->run_id(), {{actor, ""}});
    Pass(absl::Seconds(40));
    return cancelled;
  }
  static v1::CreateRunRequest Site() {
    v1::CreateRunRequest request;
    request.set_bundle_sha256("site");
    request.set_playbook("one.yaml");
    return request;
  }
  static auto Denied(const std::string& what = "muster bundle approve") {
    return StatusIs(absl::StatusCode::kPermissionDenied, AllOf(Said(), HasSubstr(what)));
  }
};

TEST_F(RunApprovalsTest, AnOperatorRunsWhatAnAdministratorHasApplied) {
  EXPECT_THAT(Create("operator:eve", Site()), Denied());
  EXPECT_TRUE(Runs().empty());
  EXPECT_OK(Create("admin:alice", Site()));
  EXPECT_OK(Create("operator:eve", Site()));
  v1::CreateRunRequest other = Site();
  other.set_playbook("two.yaml");
  EXPECT_THAT(Create("operator:eve", other), Denied("two.yaml"));
  v1::CreateRunRequest varied = Site();
  (*varied.mutable_extra_vars())["keys"] = "\"eve\"";
  EXPECT_THAT(Create("operator:eve", varied), Denied("--vars keys"));
}

TEST_F(RunApprovalsTest, WhatTheControllerGivesNeedsNoApproval) {
  EXPECT_OK(Create("admin:alice", Site()));
  v1::CreateRunRequest back = Site();
  (*back.mutable_extra_vars())["stack"] = "\"debian12\"";
  EXPECT_THAT(Create("operator:eve", back), Denied("--vars stack"));
  RunActor eve = {{"operator:eve", ""}};
  eve.own_variables = {"stack"};
  EXPECT_OK(engine_->Create(back, eve).status());
  (*back.mutable_extra_vars())["keys"] = "\"eve\"";
  EXPECT_THAT(engine_->Create(back, eve).status(), Denied("--vars keys"));
}

TEST_F(RunApprovalsTest, AnOperatorChecksNothingElseEither) {
  v1::CreateRunRequest check = Site();
  check.set_check_only(true);  // `unless:` and `validate:` run on nodes in a check, too
  EXPECT_THAT(Create("operator:eve", check), Denied());
  EXPECT_OK(Create("admin:alice", Site()));
  EXPECT_OK(Create("operator:eve", check));
}

TEST_F(RunApprovalsTest, ACheckOrAPartOfAPlaybookApprovesNothing) {
  v1::CreateRunRequest check = Site();
  check.set_check_only(true);
  EXPECT_OK(Create("admin:alice", check));
  EXPECT_THAT(Create("operator:eve", Site()), Denied());
  v1::CreateRunRequest part = Site();
  part.add_tags("known");
  EXPECT_OK(Create("admin:alice", part));
  EXPECT_THAT(Create("operator:eve", Site()), Denied());
  EXPECT_THAT(Create("operator:eve", part), Denied());
  EXPECT_OK(Create("admin:alice", Site()));
  EXPECT_OK(Create("operator:eve", part));
}

TEST_F(RunApprovalsTest, APlanFileOfAnotherSiteIsHeldToItToo) {
  v1::PlanFile file;
  file.set_format(kPlanFileFormat);
  *file.mutable_expires_at() = ToTimestamp(clock_.Now() + absl::Hours(1));
  *file.mutable_created_at() = ToTimestamp(clock_.Now());
  file.set_inventory_revision(7);
  file.set_bundle_sha256("site");
  file.set_playbook("one.yaml");
  (*file.mutable_extra_vars())["keys"] = "\"eve\"";
  const auto plan = [&] {
    plans_["plan"][kPlanFileName] = *WritePlanFile(file);
    v1::CreateRunRequest request;
    request.set_plan_sha256("plan");
    return request;
  };
  EXPECT_THAT(Create("operator:eve", plan()), Denied("one.yaml"));
  EXPECT_OK(Create("admin:alice", Site()));
  EXPECT_THAT(Create("operator:eve", plan()), Denied("--vars keys"));
  file.clear_extra_vars();
  // The approvals let it pass: the file predicts nothing for any node.
  EXPECT_THAT(Create("operator:eve", plan()), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(RunApprovalsTest, APreviewNamesTheNodesAndRefusesAsTheRunWouldAndLeavesNothing) {
  EXPECT_THAT(engine_->Preview(Site(), {{"operator:eve", ""}}).status(), Denied());
  const auto nodes = engine_->Preview(Site(), {{"admin:alice", ""}});
  ASSERT_OK(nodes);
  EXPECT_THAT(*nodes, ::testing::ElementsAre("a", "b"));
  EXPECT_TRUE(Runs().empty());
  // It is not an apply either: it approves nothing.
  EXPECT_THAT(Create("operator:eve", Site()), Denied());
  v1::CreateRunRequest wrong = Site();
  wrong.set_playbook("none.yaml");
  EXPECT_THAT(engine_->Preview(wrong, {{"admin:alice", ""}}).status(),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(RunApprovalsTest, CatchingUpHasTheRightsOfWhoeverMissedIt) {
  ASSERT_OK(Create("admin:alice", Site()));
  Connect("a");
  const auto missed = engine_->Create(Site(), {{"operator:eve", ""}});
  ASSERT_OK(missed);
  AnswerFacts(missed->run_id(), 0);
  Complete("a", missed->run_id() + "/0");
  Pass(absl::Seconds(10));
  const size_t before = Runs().size();
  ASSERT_OK(approvals_->Revoke("site", {"admin:alice", ""}));
  // However often it is repeated: the audit log never shrinks.
  for (int i = 0; i < 3; ++i) {
    Connect("b");
    Pass(absl::Seconds(10));
    Cut("b");
    Pass(absl::Seconds(10));
  }
  EXPECT_EQ(Runs().size(), before);
  ASSERT_EQ(EventsOf("run.catch_up_refused").size(), 1u);
  EXPECT_THAT(EventsOf("run.catch_up_refused")[0].detail, Said());
}

TEST_F(RunApprovalsTest, RunsOfBeforeApprovalsCountAfterTheUpgrade) {
  approvals_.reset();
  Restart();
  v1::CreateRunRequest check = Site();
  check.set_check_only(true);
  check.set_playbook("two.yaml");
  ASSERT_OK(Create("admin:alice", check));
  ASSERT_OK(Create("admin:alice", Site()));
  v1::CreateRunRequest by_operator = Site();
  by_operator.set_playbook("two.yaml");
  ASSERT_OK(Create("operator:eve", by_operator));
  Hold();
  EXPECT_THAT(Create("operator:eve", Site()), Denied());
  ASSERT_OK(AdoptEarlierRuns(*store_, *approvals_));
  EXPECT_OK(Create("operator:eve", Site()));
  EXPECT_THAT(Create("operator:eve", by_operator), Denied("two.yaml"));
  // Only once, so that nothing revoked since then returns.
  ASSERT_OK(approvals_->Revoke("site", {"admin:alice", ""}));
  ASSERT_OK(AdoptEarlierRuns(*store_, *approvals_));
  EXPECT_THAT(Create("operator:eve", Site()), Denied("revoked"));
}

}  // namespace
}  // namespace muster::controller
