#include "cli/render/validation/validation_report.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/context.h"
#include "cli/render/output.h"
#include "cli/render/validation/validation_words.h"
#include "common/base/proto_time.h"

namespace muster::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const absl::Time kReportNow = absl::FromUnixSeconds(1'900'000'000);

v1::Validation Sample() {
  v1::Validation validation;
  validation.set_validation_id("v-1");
  validation.set_suite("quick");
  validation.set_suite_digest("0123456789abcdef");
  validation.set_state(v1::VALIDATION_STATE_DONE);
  validation.set_created_by("operator:alice");
  *validation.mutable_created_at() = ToTimestamp(kReportNow - absl::Minutes(5));
  v1::NodeVerdict& good = *validation.add_nodes();
  good.set_node("c001");
  good.set_outcome(v1::OUTCOME_PASS);
  good.set_service("in service");
  v1::CheckVerdict& passed = *good.add_checks();
  passed.set_check("gpu-gemm");
  passed.set_stage("gpus");
  passed.set_outcome(v1::OUTCOME_PASS);
  v1::NodeVerdict& bad = *validation.add_nodes();
  bad.set_node("c002");
  bad.set_outcome(v1::OUTCOME_FAIL);
  v1::CheckVerdict& failed = *bad.add_checks();
  failed.set_check("gpu-gemm");
  failed.set_stage("gpus");
  failed.set_outcome(v1::OUTCOME_FAIL);
  failed.set_reason("GPU-7 is slow");
  v1::Finding& finding = *failed.add_findings();
  finding.set_outcome(v1::OUTCOME_FAIL);
  finding.set_metric("tflops_median");
  finding.set_variant("fp16");
  finding.set_subject("GPU-7");
  finding.set_slot("0000:41:00.0");
  finding.set_value(61.25);
  finding.set_floor(90);
  finding.set_unit("TFLOPS");
  finding.set_source("inventory/hardware/x.yaml:7");
  v1::Blame& blame = *validation.add_blames();
  blame.set_kind("link");
  blame.add_names("c002");
  blame.add_names("eth0");
  blame.set_message("all of its pairs are slow");
  return validation;
}

TEST(ValidationReport, SaysWhatFailedAgainstWhichLimit) {
  EXPECT_THAT(
      RenderValidation(Sample(), kReportNow),
      AllOf(HasSubstr("validation v-1: suite quick (0123456789ab), done, by operator:alice"),
            HasSubstr("in service"), HasSubstr("GPU-7 is slow"), HasSubstr("GPU-7 in 0000:41:00.0"),
            HasSubstr("61.25 TFLOPS, limit 90"), HasSubstr("(inventory/hardware/x.yaml:7)"),
            HasSubstr("link c002, eth0: all of its pairs are slow")));
}

TEST(ValidationReport, SetsTheRingBesideItsPairs) {
  v1::Validation validation = Sample();
  EXPECT_THAT(RenderValidation(validation, kReportNow), Not(HasSubstr("The ring")));
  v1::RingOutlook& ring = *validation.add_rings();
  ring.set_stage("network");
  ring.set_check("collective");
  ring.set_message("86 % of the slowest pair");
  v1::RingForecast& forecast = *ring.add_forecasts();
  forecast.set_nodes(4);
  forecast.set_ring_ms(170.5);
  forecast.set_pairs_ms(153.25);
  forecast.set_ring_worst(0.54);
  forecast.set_ring_best(1);
  forecast.set_pairs_worst(0.566);
  forecast.set_pairs_best(0.95);
  EXPECT_THAT(RenderValidation(validation, kReportNow),
              AllOf(HasSubstr("The ring (network, collective): 86 % of the slowest pair\n"),
                    ContainsRegex("4 +170.5 ms +153.25 ms +54.0 % to 100.0 % +56.6 % to 95.0 %")));
}

TEST(ValidationReport, UnknownTakesNoPassAway) {
  v1::Validation validation = Sample();
  EXPECT_THAT(RenderValidation(validation, kReportNow),
              Not(HasSubstr("neither a pass nor a fail")));
  for (v1::NodeVerdict& node : *validation.mutable_nodes()) node.set_outcome(v1::OUTCOME_UNKNOWN);
  for (const char* name : {"c003", "c004", "c005"}) {
    v1::NodeVerdict& node = *validation.add_nodes();
    node.set_node(name);
    node.set_outcome(v1::OUTCOME_UNKNOWN);
  }
  validation.mutable_nodes(1)->set_service("in service");
  validation.mutable_nodes(2)->set_service("not validated");
  validation.mutable_nodes(3)->set_service("quarantined: failed v-0");
  validation.mutable_nodes(4)->set_service("drained by root: bad disk");
  EXPECT_THAT(
      RenderValidation(validation, kReportNow),
      HasSubstr("Unknown is neither a pass nor a fail: it neither grants nor revokes a pass.\n"
                "  hold a pass from another validation and stay in service: c[001-002]\n"
                "  hold no pass and stay out of service until they pass: c[003-004]\n"));
  validation.set_state(v1::VALIDATION_STATE_RUNNING);
  EXPECT_THAT(RenderValidation(validation, kReportNow),
              Not(HasSubstr("neither a pass nor a fail")));
}

TEST(ValidationReport, SaysWhenTheColumnOfSlurmIsOld) {
  v1::Validation validation = Sample();
  EXPECT_THAT(RenderValidation(validation, kReportNow), Not(HasSubstr("since the end")));
  validation.set_service_is_behind(true);
  EXPECT_THAT(RenderValidation(validation, kReportNow),
              HasSubstr("Slurm has not been queried since the end"));
}

TEST(ValidationReport, TheWorstNodeDecides) {
  v1::Validation validation = Sample();
  EXPECT_EQ(OutcomeOf(validation), v1::OUTCOME_FAIL);
  validation.mutable_nodes(1)->set_outcome(v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(OutcomeOf(validation), v1::OUTCOME_UNKNOWN);
  validation.mutable_nodes(1)->set_outcome(v1::OUTCOME_SKIPPED);
  EXPECT_EQ(OutcomeOf(validation), v1::OUTCOME_UNKNOWN);
  validation.mutable_nodes(1)->set_outcome(v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(validation), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(v1::Validation()), v1::OUTCOME_UNKNOWN);
}

// Neither its part in the validation nor its results decide anything.
TEST(ValidationReport, AWitnessIsNamedAndNotCounted) {
  v1::Validation validation;
  validation.set_state(v1::VALIDATION_STATE_DONE);
  v1::NodeVerdict& tested = *validation.add_nodes();
  tested.set_node("c001");
  tested.set_outcome(v1::OUTCOME_PASS);
  EXPECT_EQ(RenderWitness(validation), "");
  v1::NodeVerdict& witness = *validation.add_nodes();
  witness.set_node("c002");
  witness.set_is_witness(true);
  v1::CheckVerdict& check = *witness.add_checks();
  check.set_check("nic-pair");
  check.set_partner("c001");
  check.set_outcome(v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(validation), v1::OUTCOME_PASS);
  EXPECT_EQ(ExitCodeOf(validation), kExitClean);
  const std::string text = RenderValidation(validation, kReportNow);
  EXPECT_THAT(text, AllOf(HasSubstr("c002 was borrowed as a witness"), HasSubstr("nic-pair c001")));
  EXPECT_THAT(RenderHistory("c002", {validation}, kReportNow), HasSubstr("witness"));
  EXPECT_THAT(RenderComparison(validation, validation, {}, {}), HasSubstr("no outcome differs"));
}

TEST(ValidationReport, ExitCodeCountsWhatLiesBetweenNodes) {
  v1::Validation validation;
  validation.add_nodes()->set_outcome(v1::OUTCOME_PASS);
  EXPECT_EQ(ExitCodeOf(validation), kExitClean);
  v1::Blame& blame = *validation.add_blames();
  blame.set_kind("cannot_tell");
  EXPECT_EQ(ExitCodeOf(validation), kExitClean);  // a hint, since no pair is known to be at fault
  blame.set_kind("uplink");
  EXPECT_EQ(ExitCodeOf(validation), kExitNotPassed);
}

TEST(ValidationReport, ComparesOutcomesAndValues) {
  const v1::Validation a = Sample();
  v1::Validation b = Sample();
  b.set_validation_id("v-2");
  b.mutable_nodes(1)->set_outcome(v1::OUTCOME_PASS);
  b.mutable_nodes(1)->mutable_checks(0)->set_outcome(v1::OUTCOME_PASS);
  v1::NodeCheckResult before;
  before.set_node("c002");
  before.mutable_result()->set_check("gpu-gemm");
  v1::Metric& metric = *before.mutable_result()->add_metrics();
  metric.set_name("tflops_median");
  metric.set_unit("TFLOPS");
  metric.set_value(60);
  v1::NodeCheckResult after = before;
  after.mutable_result()->mutable_metrics(0)->set_value(90);
  const std::string text = RenderComparison(a, b, {before}, {after});
  EXPECT_THAT(text, AllOf(HasSubstr("(node)"), HasSubstr("c002"), Not(HasSubstr("c001")),
                          HasSubstr("+50.0 %")));
  after.mutable_result()->mutable_metrics(0)->set_value(60.1);
  EXPECT_THAT(RenderComparison(a, a, {before}, {after}),
              AllOf(HasSubstr("no outcome differs"), HasSubstr("no value moved")));
}

TEST(ValidationReport, ADamagedResultIsNamed) {
  v1::NodeCheckResult result;
  result.set_node("c001");
  result.set_stage("burn");
  result.mutable_result()->set_check("gpu-gemm");
  EXPECT_THAT(DescribeDamage("v-1", result),
              HasSubstr("what gpu-gemm measured on c001 in stage 'burn' of v-1 is damaged"));
  result.set_partner("c002");
  EXPECT_THAT(DescribeDamage("v-1", result), HasSubstr("gpu-gemm with c002 measured on c001"));
  result.mutable_result()->set_outcome(v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(DescribeDamage("v-1", result), "");
}

TEST(ValidationReport, HistoryNamesWhatWasNotFine) {
  EXPECT_THAT(RenderHistory("c002", {Sample()}, kReportNow),
              AllOf(HasSubstr("v-1"), HasSubstr("fail"), HasSubstr("gpu-gemm")));
}

TEST(ValidationReport, APairHasNoVerdictBeforeAllPairsAreCompared) {
  v1::CheckVerdict pair;
  pair.set_check("nic-pair");
  pair.set_partner("c002");
  pair.set_outcome(v1::OUTCOME_PASS);
  EXPECT_THAT(RenderLiveVerdictLine("c001", pair), HasSubstr(" measured\n"));
  EXPECT_THAT(RenderVerdictLine("c001", pair), HasSubstr(" pass\n"));
  pair.set_outcome(v1::OUTCOME_FAIL);
  EXPECT_THAT(RenderLiveVerdictLine("c001", pair), HasSubstr(" fail\n"));
  v1::CheckVerdict alone;
  alone.set_check("gpu-gemm");
  alone.set_outcome(v1::OUTCOME_PASS);
  EXPECT_THAT(RenderLiveVerdictLine("c001", alone), HasSubstr(" pass\n"));
}

TEST(ValidationReport, AVerdictThatIsStillToComeIsPending) {
  v1::Validation validation;
  v1::NodeVerdict& node = *validation.add_nodes();
  node.set_node("c001");
  node.add_checks()->set_check("gpu-gemm");
  validation.add_nodes()->set_is_witness(true);
  const nlohmann::ordered_json value = ValidationToValue(validation);
  EXPECT_EQ(value["nodes"][0]["outcome"], "pending");
  EXPECT_EQ(value["nodes"][0]["checks"][0]["outcome"], "pending");
  EXPECT_TRUE(value["nodes"][1]["outcome"].is_null());
  EXPECT_EQ(OutcomeWord(node), "pending");
  node.set_outcome(v1::OUTCOME_FAIL);
  EXPECT_EQ(ValidationToValue(validation)["nodes"][0]["outcome"], "fail");
}

TEST(ValidationReport, WhatIsCountedHasNoUnit) {
  v1::Validation validation = Sample();
  v1::CheckVerdict& check = *validation.mutable_nodes(0)->add_checks();
  check.set_check("gpu-info");
  check.set_outcome(v1::OUTCOME_FAIL);
  v1::Finding& finding = *check.add_findings();
  finding.set_outcome(v1::OUTCOME_FAIL);
  finding.set_metric("pcie_width");
  finding.set_value(8);
  finding.set_unit("1");
  finding.set_floor(16);
  EXPECT_THAT(RenderValidation(validation, kReportNow), HasSubstr("pcie width 8, limit 16"));
  EXPECT_EQ(UnitWords("Gbit/s"), " Gbit/s");
}

TEST(RunningView, ShowsWhatGoesOnAndForgetsWhatEnded) {
  RunningView view;
  v1::ValidationEvent event;
  event.set_node("c001");
  event.mutable_running()->set_check("gpu-gemm");
  event.mutable_running()->mutable_progress()->set_phase("fp16");
  event.mutable_running()->mutable_progress()->set_fraction(0.5);
  view.Apply(event);
  ASSERT_THAT(view.Lines(10, 80), SizeIs(1));
  EXPECT_THAT(view.Lines(10, 80)[0], AllOf(HasSubstr("50 %"), HasSubstr("fp16")));
  EXPECT_LE(DisplayWidth(view.Lines(10, 20)[0]), 20u);
  for (const char* node : {"c002", "c003", "c004"}) {
    event.set_node(node);
    view.Apply(event);
  }
  ASSERT_THAT(view.Lines(3, 80), SizeIs(3));
  EXPECT_THAT(view.Lines(3, 80)[2], HasSubstr("2 more"));
  event.mutable_verdict()->set_check("gpu-gemm");
  for (const char* node : {"c001", "c002", "c003", "c004"}) {
    event.set_node(node);
    view.Apply(event);
  }
  EXPECT_THAT(view.Lines(10, 80), IsEmpty());
}

}  // namespace
}  // namespace muster::cli
