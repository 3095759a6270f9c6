// A plan from the results of a check: folded, shown, summed up, compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "cli/render/plan/plan_compare.h"
#include "cli/render/plan/plan_fold.h"
#include "cli/render/plan/plan_report.h"
#include "cli/render/plan/plan_summary.h"
#include "muster/v1/run.pb.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct StepOf {
  std::string id, resource;
  v1::StepStatus status = v1::STEP_STATUS_CHANGED;
  std::string field, before, after;
  bool handler = false;
};

v1::NodeStepResult PlanResult(const std::string& node, const StepOf& step, uint32_t play = 0) {
  v1::NodeStepResult result;
  result.set_node(node);
  result.set_play_index(play);
  v1::StepResult& out = *result.mutable_result();
  out.set_step_id(step.id);
  out.set_role(step.id.substr(0, step.id.find('/')));
  out.set_name(step.id.substr(step.id.rfind('/') + 1));
  out.set_status(step.status);
  out.set_resource(step.resource);
  out.set_handler(step.handler);
  if (step.status == v1::STEP_STATUS_SKIPPED) out.set_message("when: x is false");
  if (!step.field.empty()) {
    v1::Change& change = *out.add_changes();
    change.set_field(step.field);
    change.set_before(step.before);
    change.set_after(step.after);
  }
  return result;
}

const StepOf kPackage = {"munge/package", "package[munge]", v1::STEP_STATUS_CHANGED,
                         "package munge", "absent",         "0.5.15"};
const StepOf kKey = {
    "munge/key", "file[/etc/munge/munge.key]", v1::STEP_STATUS_CHANGED, "content", "absent",
    "[secret]"};
const StepOf kRestart = {"munge/handler/restart",
                         "unit[munge.service]",
                         v1::STEP_STATUS_CHANGED,
                         "state",
                         "active",
                         "restarted",
                         true};
const StepOf kSkipped = {"gpu/driver", "", v1::STEP_STATUS_SKIPPED};

StepOf InSync(StepOf step) {
  step.status = v1::STEP_STATUS_OK;
  step.field.clear();
  return step;
}

// A run of one play whose nodes are done and have equal steps.
v1::Run PlanRun(const std::vector<std::string>& nodes) {
  v1::Run run;
  run.add_plays("workers");
  for (const std::string& name : nodes) {
    v1::NodeRecap& node = *run.add_nodes();
    node.set_node(name);
    node.set_state("done");
    (*node.mutable_steps_digests())[0] = "d1";
  }
  return run;
}

v1::PlanFile Fold(const v1::Run& run, const std::vector<v1::NodeStepResult>& results) {
  PlanFolder folder;
  for (const v1::NodeStepResult& result : results) folder.Add(result);
  return folder.Finish(run);
}

v1::PlanFile TwoOfThree() {
  std::vector<v1::NodeStepResult> results;
  for (const char* node : {"c001", "c003"}) {
    for (const StepOf& step : {kPackage, kKey, kSkipped, kRestart}) {
      results.push_back(PlanResult(node, step));
    }
  }
  for (const StepOf& step : {InSync(kPackage), InSync(kKey), kSkipped}) {
    results.push_back(PlanResult("c002", step));
  }
  return Fold(PlanRun({"c001", "c002", "c003"}), results);
}

TEST(PlanFold, EqualNodesAreOneOutcome) {
  const v1::PlanFile plan = TwoOfThree();
  ASSERT_EQ(plan.plays_size(), 1);
  ASSERT_EQ(plan.plays(0).steps_size(), 4);
  EXPECT_EQ(plan.plays(0).nodes(0).nodes(), "c[001-003]");
  EXPECT_EQ(plan.plays(0).nodes(0).steps_digest(), "d1");
  const v1::PlannedStep& package = plan.plays(0).steps(0);
  EXPECT_EQ(package.step_id(), "munge/package");
  ASSERT_EQ(package.outcomes_size(), 2);
  EXPECT_EQ(package.outcomes(0).nodes(), "c[001,003]");
  EXPECT_EQ(package.outcomes(0).status(), v1::STEP_STATUS_CHANGED);
  EXPECT_EQ(package.outcomes(1).nodes(), "c002");
  EXPECT_EQ(plan.plays(0).steps(2).step_id(), "munge/handler/restart");
  EXPECT_EQ(plan.plays(0).steps(3).outcomes(0).message(), "when: x is false");
}

TEST(PlanFold, StepsThatOnlySomeNodesHaveStandInTheirPlace) {
  const v1::PlanFile plan =
      Fold(PlanRun({"a", "b"}), {PlanResult("a", {"r/1", "x"}), PlanResult("a", {"r/3", "x"}),
                                 PlanResult("b", {"r/1", "x"}), PlanResult("b", {"r/2", "x"}),
                                 PlanResult("b", {"r/3", "x"})});
  std::vector<std::string> order;
  for (const v1::PlannedStep& step : plan.plays(0).steps()) order.push_back(step.step_id());
  EXPECT_THAT(order, ElementsAre("r/1", "r/2", "r/3"));
}

TEST(PlanFold, NodesThatWereNotCheckedToTheEndAreLeftOut) {
  v1::Run run = PlanRun({"c001", "c002", "c003", "c004"});
  for (int i : {1, 2}) {
    run.mutable_nodes(i)->set_state("unreachable");
    run.mutable_nodes(i)->set_message("not connected");
  }
  run.mutable_nodes(3)->set_state("failed");
  run.mutable_nodes(3)->set_message("munge: key: no");
  const v1::PlanFile plan = Fold(run, {PlanResult("c001", kKey), PlanResult("c004", kKey)});
  EXPECT_EQ(plan.plays(0).steps(0).outcomes(0).nodes(), "c001");
  EXPECT_EQ(plan.plays(0).nodes(0).nodes(), "c001");
  ASSERT_EQ(plan.left_out_size(), 2);
  EXPECT_EQ(plan.left_out(0).nodes(), "c004");
  EXPECT_EQ(plan.left_out(1).nodes(), "c[002-003]");
  const std::string text = RenderPlan(plan);
  EXPECT_THAT(text, HasSubstr("c[002-003]  unreachable, not planned\n    not connected\n"));
  EXPECT_THAT(text, HasSubstr("1 node to change, 0 as they should be, 3 not planned\n"));
}

TEST(PlanReport, ShowsTheChangesOfEqualNodesOnce) {
  EXPECT_EQ(RenderPlan(TwoOfThree()),
            "c[001,003]  (2 nodes)\n"
            "  play 1: workers\n"
            "    munge: package  package[munge]\n"
            "        package munge: absent -> 0.5.15\n"
            "    munge: key  file[/etc/munge/munge.key]\n"
            "        content: absent -> [secret]\n"
            "    munge: restart (handler)  unit[munge.service]\n"
            "        state: active -> restarted\n"
            "\n"
            "c002  (1 node)\n"
            "  nothing to change\n"
            "\n"
            "2 nodes to change, 1 as they should be\n"
            "\n"
            "NODES       TO CHANGE  REBOOT\n"
            "c[001,003]  3 steps    no\n"
            "\n"
            "TO DO             WHAT                  NODES\n"
            "install packages  munge                 c[001,003]\n"
            "restart units     munge.service         c[001,003]\n"
            "write files       /etc/munge/munge.key  c[001,003]\n");
  EXPECT_TRUE(HasChanges(TwoOfThree()));
  EXPECT_FALSE(HasChanges(Fold(PlanRun({"a"}), {PlanResult("a", InSync(kKey))})));
}

TEST(PlanReport, DiffsThatDifferInLinesAreFoldedByThem) {
  const auto result = [](const std::string& node, const std::string& line) {
    v1::NodeStepResult out =
        PlanResult(node, {"base/hosts", "file[/etc/hosts]", v1::STEP_STATUS_CHANGED, "content",
                          "absent", "sha256 of " + node});
    out.mutable_result()->mutable_changes(0)->set_diff("+127.0.0.1 localhost\n" + line +
                                                       "+# end\n");
    return out;
  };
  const v1::PlanFile plan =
      Fold(PlanRun({"c001", "c002", "c003", "c004"}),
           {result("c001", "+10.0.0.1 c001\n"), result("c002", ""),
            result("c003", "+10.0.0.3 rack2\n"), result("c004", "+10.0.0.3 rack2\n")});
  EXPECT_THAT(RenderPlan(plan), HasSubstr("c[001-004]  (4 nodes)\n"
                                          "  play 1: workers\n"
                                          "    base: hosts  file[/etc/hosts]\n"
                                          "        +127.0.0.1 localhost\n"
                                          "        c001: +10.0.0.1 c001\n"
                                          "        c[003-004]: +10.0.0.3 rack2\n"
                                          "        +# end\n"
                                          "\n"));
}

TEST(PlanReport, RebootsAreAColumn) {
  const StepOf upgrade = {
      "r/kernel", "package[linux]", v1::STEP_STATUS_CHANGED, "package linux", "6.1", "6.2"};
  const StepOf system = {
      "r/system", "package_upgrade[all]", v1::STEP_STATUS_CHANGED, "package linux", "6.1", "6.2"};
  const StepOf reboot = {"r/reboot", "reboot",  v1::STEP_STATUS_CHANGED,
                         "state",    "running", "rebooted"};
  const v1::PlanFile plan =
      Fold(PlanRun({"a", "b", "c", "d", "e"}),
           {PlanResult("a", upgrade), PlanResult("a", reboot), PlanResult("b", upgrade),
            PlanResult("b", InSync(reboot)), PlanResult("c", kKey), PlanResult("c", InSync(reboot)),
            PlanResult("d", InSync(kKey)), PlanResult("d", InSync(reboot)), PlanResult("e", system),
            PlanResult("e", InSync(reboot))});
  EXPECT_EQ(RenderNodes(plan),
            "\n"
            "NODES  TO CHANGE  REBOOT\n"
            "c      1 step     no\n"
            "b,e    1 step     perhaps\n"
            "a      2 steps    yes\n");
  EXPECT_EQ(RenderNodes(Fold(PlanRun({"d"}), {PlanResult("d", InSync(kKey))})), "");
}

TEST(PlanReport, NodesThatOtherWorkHoldsAreNamed) {
  v1::Run run = PlanRun({"c001"});
  v1::BusyNodes& busy = *run.add_left_out();
  busy.set_nodes("c[002-003]");
  busy.set_reason("validation v-1 of admin:alice (suite acceptance) tests c[002-003]");
  const v1::PlanFile plan = Fold(run, {PlanResult("c001", kKey)});
  EXPECT_EQ(plan.left_out(0).state(), "busy");
  const std::string text = RenderPlan(plan);
  EXPECT_THAT(text, HasSubstr("c[002-003]  busy, not planned\n    validation v-1 of admin:alice"));
  EXPECT_THAT(text, HasSubstr("1 node to change, 0 as they should be, 2 not planned\n"));
}

TEST(PlanReport, SaysThatJobsMayDie) {
  v1::PlanFile plan;
  EXPECT_THAT(RenderPlan(plan), Not(HasSubstr("jobs")));
  plan.set_reboot_with_jobs(true);
  EXPECT_THAT(RenderPlan(plan), HasSubstr("the jobs die"));
}

TEST(PlanReport, ValuesCannotSteerTheTerminal) {
  StepOf step = kKey;
  step.after = "\033[31mred";
  EXPECT_THAT(RenderPlan(Fold(PlanRun({"a"}), {PlanResult("a", step)})), Not(HasSubstr("\033")));
}

TEST(PlanSummary, SortsDeedsByWhatTheyAreAndThingsByTheirNodes) {
  const auto step = [](const char* id, const char* resource, const char* field, const char* before,
                       const char* after, bool handler = false) {
    return StepOf{id, resource, v1::STEP_STATUS_CHANGED, field, before, after, handler};
  };
  const StepOf steps[] = {
      step("r/1", "package[b, c]", "package c", "1", "2"),
      step("r/2", "package[x]", "package x", "1", "absent"),
      step("r/3", "package[y, z]", "state", "", "will change (after 'repository')"),
      step("r/4", "unit[u.service]", "state", "inactive", "started"),
      step("r/handler/5", "unit[v.service]", "state", "active", "reloaded", true),
      step("r/6", "unit[w.service]", "enabled", "disabled", "enabled"),
      step("r/7", "reboot", "state", "running", "rebooted"),
      step("r/8", "file[/a]", "state", "present", "absent"),
      step("r/9", "command[sh -c x]", "command", "", "sh -c x"),
      step("r/10", "user[alice]", "state", "absent", "present"),
  };
  std::vector<v1::NodeStepResult> results;
  for (const StepOf& each : steps) results.push_back(PlanResult("c001", each));
  results.push_back(PlanResult("c002", steps[0]));
  const std::vector<SummaryLine> lines = Summarize(Fold(PlanRun({"c001", "c002"}), results));
  EXPECT_THAT(lines, ElementsAre(SummaryLine{"install packages", {"y", "z"}, "c001"},
                                 SummaryLine{"upgrade packages", {"c"}, "c[001-002]"},
                                 SummaryLine{"remove packages", {"x"}, "c001"},
                                 SummaryLine{"reboot", {}, "c001"},
                                 SummaryLine{"reload units", {"v.service"}, "c001"},
                                 SummaryLine{"start units", {"u.service"}, "c001"},
                                 SummaryLine{"change units", {"w.service"}, "c001"},
                                 SummaryLine{"remove files", {"/a"}, "c001"},
                                 SummaryLine{"run commands", {"9"}, "c001"},
                                 SummaryLine{"other", {"user[alice]"}, "c001"}));
}

TEST(PlanCompare, EqualPredictionsHold) {
  const v1::PlanFile plan = TwoOfThree();
  EXPECT_THAT(*ComparePlans(plan, TwoOfThree(), {"c001", "c002", "c003"}), IsEmpty());
}

TEST(PlanCompare, NamesStepAndNodesThatDiffer) {
  const v1::PlanFile plan = TwoOfThree();
  std::vector<v1::NodeStepResult> results;
  for (const char* node : {"c001", "c003"}) {
    for (const StepOf& step : {InSync(kPackage), kKey, kSkipped, kRestart}) {
      results.push_back(PlanResult(node, step));
    }
  }
  StepOf mode = kKey;
  mode.field = "mode";
  mode.before = "0644";
  mode.after = "0400";
  for (const StepOf& step : {InSync(kPackage), mode}) results.push_back(PlanResult("c002", step));
  const v1::PlanFile now = Fold(PlanRun({"c001", "c002", "c003"}), results);
  EXPECT_THAT(
      *ComparePlans(plan, now, {"c001", "c002", "c003"}),
      ElementsAre(
          PlanDifference{"c[001,003]",
                         "munge: package: planned package munge: absent -> 0.5.15, now unchanged"},
          PlanDifference{"c002", "munge: key: planned unchanged, now mode: 0644 -> 0400"},
          PlanDifference{"c002",
                         "gpu: driver: planned skipped (when: x is false), now no such step"}));
  // Nodes outside the question do not count.
  EXPECT_THAT(*ComparePlans(plan, now, {"c003"}), ElementsAre(::testing::_));
  const std::string text = RenderDifferences(*ComparePlans(plan, now, {"c001", "c002"}), 1);
  EXPECT_THAT(text, HasSubstr("c001: munge: package: planned"));
  EXPECT_THAT(text, HasSubstr("… and 2 more differences\n"));
}

TEST(PlanCompare, NodesThatCannotBeCheckedNowAreNamedOnce) {
  const v1::PlanFile plan = TwoOfThree();
  v1::Run run = PlanRun({"c001", "c002", "c003"});
  run.mutable_nodes(1)->set_state("unreachable");
  run.mutable_nodes(1)->set_message("not connected");
  std::vector<v1::NodeStepResult> results;
  for (const char* node : {"c001", "c003"}) {
    for (const StepOf& step : {kPackage, kKey, kSkipped, kRestart}) {
      results.push_back(PlanResult(node, step));
    }
  }
  EXPECT_THAT(*ComparePlans(plan, Fold(run, results), {"c001", "c002", "c003"}),
              ElementsAre(PlanDifference{"c002", "now unreachable: not connected"}));
}

TEST(PlanCompare, OtherCompiledStepsCountAlsoWhereTheyPredictTheSame) {
  v1::Run run = PlanRun({"a", "b"});
  const std::vector<v1::NodeStepResult> results = {PlanResult("a", kKey), PlanResult("b", kKey)};
  const v1::PlanFile plan = Fold(run, results);
  (*run.mutable_nodes(1)->mutable_steps_digests())[0] = "d2";
  const auto differences = *ComparePlans(plan, Fold(run, results), {"a", "b"});
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].nodes, "b");
  EXPECT_THAT(differences[0].text, HasSubstr("play workers: its steps now compile differently"));
}

}  // namespace
}  // namespace muster::cli
