#include "agent/burnin/gpu/dcgm/diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::burnin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The shape of DCGM 3, with a warning before it.
constexpr char kThree[] = R"(Warning: something
{"DCGM GPU Diagnostic": {"test_categories": [
  {"category": "Deployment", "tests": [
    {"name": "Denylist", "results": [{"gpu_ids": "0,1", "status": "PASS"}]},
    null,
    {"name": "Persistence Mode", "results": [{"gpu_ids": "0,1", "status": "FAIL",
      "warnings": ["Persistence mode for GPU 1 is disabled."]}]},
    {"name": "Page Retirement/Row Remap", "results": [{"gpu_ids": "0,1", "status": "FAIL"}]}]},
  {"category": "Hardware", "tests": [
    {"name": "GPU Memory", "results": [
      {"gpu_ids": "0", "status": "PASS", "info": ["Allocated 80 %"]},
      {"gpu_ids": "1", "status": "FAIL", "warnings": ["miscompare", "at 0x12"]}]},
    {"name": "Diagnostic", "results": [{"gpu_ids": "0", "status": "SKIP", "info": "not here"}]}]}],
  "version": "3.1.8"}}
)";

// The shape of DCGM 4.
constexpr char kFour[] = R"({"DCGM Diagnostic": {
  "metadata": {"version": "4.2.3", "Driver Version Detected": "570.1"},
  "test_categories": [
  {"category": "Deployment", "tests": [{"name": "software",
    "results": [{"entity_group": "GPU", "entity_group_id": 1, "entity_id": 0, "status": "Fail",
      "warnings": [{"warning": "Persistence mode is off", "error_id": 54, "error_category": 3,
                    "error_severity": 5}]},
     {"entity_group": "GPU", "entity_id": 1, "status": "Fail",
      "warnings": [{"warning": "pending row remap", "error_category": 10}]}],
    "test_summary": {"status": "Fail"}}]},
  {"category": "Hardware", "tests": [{"name": "memory",
    "results": [{"entity_group": "GPU", "entity_id": 1, "status": "Warn"},
                {"entity_group": "CPU", "entity_id": 7, "status": "Pass"}]}]}]}})";

TEST(DcgmDiagnosticsTest, ReadsDcgm3) {
  const absl::StatusOr<DcgmReport> report = ParseDcgm(kThree);
  ASSERT_OK(report);
  EXPECT_EQ(report->version, "3.1.8");
  EXPECT_EQ(report->error, "");
  ASSERT_THAT(report->tests, SizeIs(6));
  EXPECT_EQ(report->tests[0].status, DcgmStatus::kPass);
  EXPECT_EQ(report->tests[0].gpu, DcgmTest::kNoGpu);
  EXPECT_EQ(report->tests[3].gpu, 0);
  EXPECT_EQ(report->tests[4].gpu, 1);
  EXPECT_EQ(report->tests[4].category, "Hardware");
  EXPECT_EQ(Describe(report->tests[4]), "GPU Memory: miscompare; at 0x12");
  EXPECT_EQ(report->tests[5].status, DcgmStatus::kSkip);
  EXPECT_THAT(report->tests[5].infos, ElementsAre("not here"));
}

TEST(DcgmDiagnosticsTest, ReadsDcgm4) {
  const absl::StatusOr<DcgmReport> report = ParseDcgm(kFour);
  ASSERT_OK(report);
  EXPECT_EQ(report->version, "4.2.3");
  ASSERT_THAT(report->tests, SizeIs(4));
  EXPECT_EQ(report->tests[1].gpu, 1);
  EXPECT_EQ(report->tests[0].warnings[0].category, 3);
  EXPECT_EQ(report->tests[2].status, DcgmStatus::kWarn);
  EXPECT_EQ(report->tests[3].gpu, DcgmTest::kNoGpu) << "a processor is no GPU";
}

TEST(DcgmDiagnosticsTest, SoftwareOfTheNodeIsNotHardware) {
  const absl::StatusOr<DcgmReport> three = ParseDcgm(kThree);
  const absl::StatusOr<DcgmReport> four = ParseDcgm(kFour);
  ASSERT_OK(three);
  ASSERT_OK(four);
  EXPECT_FALSE(IsHardware(three->tests[1])) << "persistence mode";
  EXPECT_TRUE(IsHardware(three->tests[2])) << "row remap";
  EXPECT_TRUE(IsHardware(three->tests[4])) << "memory";
  EXPECT_FALSE(IsHardware(four->tests[0])) << "persistence mode";
  EXPECT_TRUE(IsHardware(four->tests[1])) << "row remap";
}

TEST(DcgmDiagnosticsTest, RunThatFailedSaysWhy) {
  const absl::StatusOr<DcgmReport> report = ParseDcgm(
      R"({"DCGM GPU Diagnostic": {"runtime_error": "Unable to run diagnostic on unsupported GPU 0"}})");
  ASSERT_OK(report);
  EXPECT_EQ(report->error, "Unable to run diagnostic on unsupported GPU 0");
  EXPECT_THAT(report->tests, IsEmpty());
}

TEST(DcgmDiagnosticsTest, GarbageIsRefusedAndOddPartsAreLeftOut) {
  for (const char* text :
       {"", "no braces", "}{", "{", "{]}", "{\"x\": 1}", "{\"DCGM Diagnostic\": 3}"})
    EXPECT_EQ(ParseDcgm(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  for (
      const char* text :
      {R"({"DCGM Diagnostic": {"test_categories": {}}})",
       R"({"DCGM Diagnostic": {"test_categories": [3, null, {"tests": 1}, {"tests": [null, {}, {"name": 1},
            {"name": "a", "results": {}}, {"name": "a", "results": [null, 3]}]}]}})"}) {
    const absl::StatusOr<DcgmReport> report = ParseDcgm(text);
    ASSERT_OK(report);
    EXPECT_THAT(report->tests, IsEmpty()) << text;
  }
  const absl::StatusOr<DcgmReport> odd = ParseDcgm(
      R"({"DCGM Diagnostic": {"test_categories": [{"tests": [{"name": "a", "results": [
          {"status": 7, "gpu_ids": "x", "entity_id": "y", "warnings": [null, {}, {"warning": 3}]}]}]}]}})");
  ASSERT_OK(odd);
  ASSERT_THAT(odd->tests, SizeIs(1));
  EXPECT_EQ(odd->tests[0].status, DcgmStatus::kSkip);
  EXPECT_EQ(odd->tests[0].gpu, DcgmTest::kNoGpu);
  EXPECT_THAT(odd->tests[0].warnings, IsEmpty());
}

}  // namespace
}  // namespace muster::burnin
