#include "agent/image/root_run.h"

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/engine/plan_rules.h"
#include "agent/image/root_plan.h"
#include "common/base/proto_time.h"
#include "google/protobuf/timestamp.pb.h"
#include "tests/fakes/fake_machine.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class RootRunTest : public ::testing::Test {
 protected:
  static v1::Plan MakePlan(const std::string& roles) {
    v1::Plan plan;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "plan_id: 'image/1' node_uuid: 'some-uuid' sequence: 7 " + roles, &plan));
    plan.set_digest(PlanDigest(plan));
    return plan;
  }

  v1::ImageApplyReport Run(const v1::Plan& plan) {
    told_.clear();
    // A journal of its own for each, as in a /run of its own.
    const muster::testing::TempDir journal;
    return RunInRoot(
        plan,
        {.journal_directory = journal.path(),
         .factory = [this](const v1::Step& step, bool) { return root_.Make(step); },
         .on_result = [this](const v1::StepResult& result) { told_.push_back(result.step_id()); },
         .stopping = [this] { return stopping_.load(); }},
        clock_);
  }

  static std::map<std::string, v1::StepStatus> Statuses(const v1::ImageApplyReport& report) {
    std::map<std::string, v1::StepStatus> statuses;
    for (const v1::StepResult& result : report.results()) {
      EXPECT_EQ(statuses.count(result.step_id()), 0u) << result.step_id() << " twice";
      statuses[result.step_id()] = result.status();
    }
    return statuses;
  }

  RealClock clock_;
  FakeMachine root_;
  std::vector<std::string> told_;
  std::atomic<bool> stopping_{false};
};

constexpr char kRole[] = R"(
    roles {
      name: "r"
      steps { step_id: "r/file" file { path: "/a" content: "1" }
              notify: "r/handler/restart" notify: "r/handler/cache" }
      steps { step_id: "r/start" unit { name: "a.service" state: UNIT_STATE_STARTED } }
      handlers { step_id: "r/handler/restart"
                 unit { name: "a.service" state: UNIT_STATE_RESTARTED } }
      handlers { step_id: "r/handler/cache" command { argv: "ldconfig" always: true } }
    })";

TEST_F(RootRunTest, RunsThePlanUnderItsOwnIdentityOnceAndThenFindsItDone) {
  v1::ImageApplyReport report = Run(MakePlan(kRole));
  EXPECT_TRUE(report.outcome().succeeded()) << report.outcome().message();
  EXPECT_THAT(Statuses(report),
              UnorderedElementsAre(Pair("r/file", v1::STEP_STATUS_CHANGED),
                                   Pair("r/start", v1::STEP_STATUS_SKIPPED),
                                   Pair("r/handler/restart", v1::STEP_STATUS_SKIPPED),
                                   Pair("r/handler/cache", v1::STEP_STATUS_CHANGED)));
  for (const v1::StepResult& result : report.results()) {
    if (result.status() != v1::STEP_STATUS_SKIPPED) continue;
    EXPECT_EQ(result.message(), kOnlyOnNode) << result.step_id();
  }
  EXPECT_THAT(told_, ElementsAre("r/file", "r/start", "r/handler/restart", "r/handler/cache"));
  EXPECT_EQ(root_.state()["/a"], "1");

  report = Run(MakePlan(kRole));
  EXPECT_TRUE(report.outcome().succeeded());
  EXPECT_THAT(Statuses(report), UnorderedElementsAre(Pair("r/file", v1::STEP_STATUS_OK),
                                                     Pair("r/start", v1::STEP_STATUS_SKIPPED)));
}

TEST_F(RootRunTest, AFailureFailsTheRoleAndThoseThatNeedIt) {
  root_.apply_errors["file[/a]"] = absl::InternalError("no space");
  const v1::ImageApplyReport report = Run(MakePlan(absl::StrCat(
      kRole, " roles { name: 's' needs: 'r' steps { step_id: 's/b' file { path: '/b' } } }",
      " roles { name: 't' steps { step_id: 't/c' file { path: '/c' content: 'x' } } }")));
  EXPECT_FALSE(report.outcome().succeeded());
  EXPECT_THAT(report.outcome().message(), Said());
  const auto statuses = Statuses(report);
  EXPECT_EQ(statuses.at("r/file"), v1::STEP_STATUS_FAILED);
  EXPECT_EQ(statuses.at("s/b"), v1::STEP_STATUS_SKIPPED);
  EXPECT_EQ(statuses.at("t/c"), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(told_.size(), statuses.size());
}

TEST_F(RootRunTest, RefusesWhatAnAgentRefuses) {
  v1::Plan expired = MakePlan(kRole);
  *expired.mutable_expires_at() = ToTimestamp(clock_.Now() - absl::Hours(1));
  expired.set_digest(PlanDigest(expired));
  v1::Plan changed = MakePlan(kRole);
  changed.mutable_roles(0)->mutable_steps(0)->mutable_file()->set_content("other");
  v1::Plan unknown = MakePlan("roles { name: 'r' steps { step_id: 'r/new' } }");
  v1::Plan unnumbered = MakePlan(kRole);
  unnumbered.set_sequence(0);
  for (const v1::Plan& plan : {expired, changed, unknown, unnumbered}) {
    const v1::ImageApplyReport report = Run(plan);
    EXPECT_FALSE(report.outcome().succeeded());
    EXPECT_NE(report.outcome().message(), "");
    EXPECT_EQ(report.results_size(), 0);
  }
  EXPECT_THAT(Run(changed).outcome().message(), Said());
  EXPECT_EQ(root_.state().count("/a"), 0u);
}

TEST_F(RootRunTest, StopsBeforeTheNextStep) {
  root_.during_apply["file[/a]"] = [this](ApplyObserver&) { stopping_ = true; };
  const v1::ImageApplyReport report =
      Run(MakePlan("roles { name: 'r' steps { step_id: 'r/a' file { path: '/a' content: '1' } }"
                   " steps { step_id: 'r/b' file { path: '/b' content: '1' } } }"));
  EXPECT_FALSE(report.outcome().succeeded());
  EXPECT_TRUE(report.outcome().cancelled());
  EXPECT_THAT(report.outcome().message(), Said());
  EXPECT_THAT(told_, ElementsAre("r/a"));
  EXPECT_EQ(root_.state().count("/b"), 0u);
}

}  // namespace
}  // namespace muster::agent
