#include "agent/engine/plan_rules.h"

#include "tests/unit/agent/engine/engine_fixture.h"

namespace muster::agent {
namespace {

using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

v1::Plan Good() {
  v1::Plan plan = MakePlan(
      10, {Role("a", {File("a/x", "/x", "1")}), Role("b", {File("b/x", "/y", "1")}, {"a"})});
  plan.mutable_expires_at()->set_seconds(absl::ToUnixSeconds(kNow) + 60);
  plan.set_digest(PlanDigest(plan));
  return plan;
}

TEST(PlanRulesTest, AcceptsAGoodPlan) { EXPECT_OK(CheckPlan(Good(), kTestNode, 9, kNow)); }

TEST(PlanRulesTest, RefusesWithTheReason) {
  struct Case {
    const char* name;
    void (*spoil)(v1::Plan&);
    bool seal;
    const char* reason;
  };
  const Case cases[] = {
      {"no id", [](v1::Plan& p) { p.clear_plan_id(); }, true, "no id"},
      {"another node", [](v1::Plan& p) { p.set_node_uuid("other"); }, true, "another node: c001"},
      {"expired",
       [](v1::Plan& p) { p.mutable_expires_at()->set_seconds(absl::ToUnixSeconds(kNow) - 300); },
       true, "plan expired 5m ago by this node's clock (2023-11-14"},
      {"old sequence", [](v1::Plan& p) { p.set_sequence(9); }, true, "already accepted 9"},
      {"tampered", [](v1::Plan& p) { p.mutable_roles(0)->mutable_steps(0)->set_name("z"); }, false,
       "does not match its digest"},
      {"unknown need", [](v1::Plan& p) { p.mutable_roles(0)->add_needs("zebra"); }, true,
       "needs role zebra, which is not in the plan"},
      {"circle", [](v1::Plan& p) { p.mutable_roles(0)->add_needs("b"); }, true, "needs itself"},
      {"role twice", [](v1::Plan& p) { p.mutable_roles(1)->set_name("a"); }, true, "used twice"},
      {"step twice", [](v1::Plan& p) { p.mutable_roles(1)->mutable_steps(0)->set_step_id("a/x"); },
       true, "'a/x' is empty or used twice"},
      {"no resource", [](v1::Plan& p) { p.mutable_roles(1)->mutable_steps(0)->clear_file(); }, true,
       "older than the controller"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Plan plan = Good();
    c.spoil(plan);
    if (c.seal) plan.set_digest(PlanDigest(plan));
    const absl::Status status = CheckPlan(plan, kTestNode, 9, kNow);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.reason));
  }
}

}  // namespace
}  // namespace muster::agent
