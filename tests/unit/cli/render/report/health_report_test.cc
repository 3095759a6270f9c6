#include "cli/render/report/health_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "muster/v1/node.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kToday = absl::FromUnixSeconds(1'900'000'000);

v1::NodeHealth* AddHealth(v1::ListHealthResponse& response, const std::string& name) {
  v1::NodeHealth* node = response.add_nodes();
  node->set_node(name);
  node->set_connected(true);
  *node->mutable_reported_at() = ToTimestamp(kToday);
  node->set_status(v1::CONDITION_STATUS_OK);
  node->set_watched(44);
  return node;
}

void AddBad(v1::NodeHealth& node, const std::string& name, absl::Duration age) {
  node.set_status(v1::CONDITION_STATUS_BAD);
  v1::ConditionView& view = *node.add_conditions();
  v1::Condition& condition = *view.mutable_condition();
  condition.set_name(name);
  condition.set_object("GPU-1");
  condition.set_status(v1::CONDITION_STATUS_BAD);
  condition.set_severity(v1::CONDITION_SEVERITY_FATAL);
  condition.set_evidence("Xid 79");
  *condition.mutable_since() = ToTimestamp(kToday - age);
  view.set_action(v1::HEALTH_ACTION_DRAIN);
  view.set_response(v1::HEALTH_RESPONSE_DRAINED);
  view.set_next("repair the node");
}

TEST(HealthReport, FoldsEqualNodes) {
  v1::ListHealthResponse response;
  AddBad(*AddHealth(response, "c001"), "gpu_lost", absl::Hours(1));
  AddBad(*AddHealth(response, "c002"), "gpu_lost", absl::Hours(2));
  v1::NodeHealth& away = *AddHealth(response, "c003");
  AddBad(away, "gpu_lost", absl::Hours(3));
  away.set_connected(false);
  v1::NodeHealth& silent = *AddHealth(response, "c004");
  silent.clear_reported_at();
  silent.set_status(v1::CONDITION_STATUS_UNKNOWN);
  AddHealth(response, "c005");
  AddHealth(response, "c006");
  response.set_ok(2);
  response.set_bad(3);
  response.set_unknown(1);
  v1::HealthBreaker& breaker = *response.add_breakers();
  breaker.set_group("all");
  breaker.set_max_drained(2);
  *breaker.mutable_window() = ToProtoDuration(absl::Minutes(10));
  *breaker.mutable_open_since() = ToTimestamp(kToday - absl::Minutes(3));
  breaker.add_waiting("c008");
  breaker.add_waiting("c007");
  EXPECT_THAT(RenderHealth(response, kToday), Said());
}

TEST(HealthReport, EveryResponseHasItsWord) {
  v1::ListHealthResponse response;
  const auto add = [&](const std::string& name, v1::HealthAction action, v1::HealthResponse what,
                       const std::string& next) {
    v1::NodeHealth& node = *AddHealth(response, name);
    AddBad(node, "gpu_lost", absl::Hours(1));
    node.mutable_conditions(0)->set_action(action);
    node.mutable_conditions(0)->set_response(what);
    node.mutable_conditions(0)->set_next(next);
  };
  add("c001", v1::HEALTH_ACTION_REBOOT_ONCE_THEN_DRAIN, v1::HEALTH_RESPONSE_REBOOTING,
      "rebooted once by u-7k3m9q2x");
  add("c002", v1::HEALTH_ACTION_REBOOT_ONCE_THEN_DRAIN, v1::HEALTH_RESPONSE_REBOOT_FAILED,
      "repair the node");
  add("c003", v1::HEALTH_ACTION_QUARANTINE, v1::HEALTH_RESPONSE_QUARANTINED, "repair the node");
  EXPECT_THAT(RenderHealth(response, kToday), Said());
  for (int i = v1::HEALTH_RESPONSE_NONE; i < v1::HealthResponse_ARRAYSIZE; ++i) {
    response.mutable_nodes(0)->mutable_conditions(0)->set_response(
        static_cast<v1::HealthResponse>(i));
    EXPECT_THAT(RenderHealth(response, kToday), Not(HasSubstr("?")))
        << v1::HealthResponse_Name(static_cast<v1::HealthResponse>(i));
  }
}

TEST(HealthReport, NothingWrongIsOneLine) {
  v1::ListHealthResponse response;
  response.set_ok(6);
  EXPECT_EQ(RenderHealth(response, kToday), "6 nodes: 6 ok, 0 bad, 0 not known\n");
}

TEST(HealthReport, ANodesWordsDoNotControlTheTerminal) {
  v1::ListHealthResponse response;
  AddBad(*AddHealth(response, "c001"), "gpu_lost", absl::Hours(1));
  response.mutable_nodes(0)->mutable_conditions(0)->mutable_condition()->set_evidence(
      "\x1b[2Jgone\nc002 is well");
  const std::string text = RenderHealth(response, kToday);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\nc002")));
}

TEST(HealthReport, TheStatusSaysWhatIsWrongAndWhatIsNext) {
  v1::GetStatusResponse status;
  EXPECT_EQ(RenderProblems(status, kToday), "");
  v1::HealthProblem& problem = *status.add_health();
  problem.set_condition("gpu_lost");
  problem.set_severity(v1::CONDITION_SEVERITY_FATAL);
  problem.set_nodes("c[001-002]");
  *problem.mutable_since() = ToTimestamp(kToday - absl::Minutes(130));
  problem.set_evidence("GPU-1: Xid 79");
  problem.set_response(v1::HEALTH_RESPONSE_DRAINED);
  problem.set_next("repair the node");
  status.add_health_breakers()->set_group("all");
  EXPECT_EQ(RenderProblems(status, kToday),
            "wrong       gpu_lost (fatal) on c[001-002] for 2h 10m: GPU-1: Xid 79\n"
            "              drained by Muster: repair the node\n"
            "breaker     too many nodes of all are bad; no more are drained (muster health)\n");
}

TEST(HealthReport, WhatWasCleared) {
  v1::ClearConditionResponse response;
  EXPECT_THAT(RenderCleared("gpu_xid", response), HasSubstr("nothing to clear"));
  response.set_cleared("c001");
  EXPECT_EQ(RenderCleared("gpu_xid", response), "cleared: gpu_xid on c001\n");
  response.set_away("c[002-003]");
  EXPECT_THAT(RenderCleared("gpu_xid", response), HasSubstr("c[002-003] is not connected"));
}

TEST(HealthReport, SilencesAndHistory) {
  v1::ListSilencesResponse silences;
  v1::Silence& silence = *silences.add_silences();
  silence.set_silence_id("s-7k3m9q2x");
  silence.set_nodes("c[001-002]");
  silence.set_reason("fans");
  silence.set_created_by("operator:ann");
  *silence.mutable_until() = ToTimestamp(kToday + absl::Hours(2));
  EXPECT_THAT(RenderSilences(silences, kToday), Said());
  EXPECT_EQ(DescribeSilence(silence, kToday),
            "s-7k3m9q2x: every condition of c[001-002], ends in 2h 00m");
  v1::ListConditionHistoryResponse history;
  v1::ConditionEvent& event = *history.add_events();
  *event.mutable_time() = ToTimestamp(kToday - absl::Minutes(5));
  event.set_node("c001");
  event.mutable_condition()->set_name("disk_full");
  event.mutable_condition()->set_object("/");
  event.mutable_condition()->set_status(v1::CONDITION_STATUS_OK);
  EXPECT_THAT(RenderConditionHistory(history, kToday), Said());
}

}  // namespace
}  // namespace muster::cli
