#include "controller/validation/suite/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/checks/limits.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/validation/test_catalog.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

absl::StatusOr<Suite> ParseText(const std::string& text) {
  return ParseSuite("playbooks/suites/s.yaml", text, kTestCatalog);
}

constexpr char kSuiteHead[] = "name: s\ndescription: d\nstages:\n";

TEST(ParseSuite, ReadsWhatIsThere) {
  const Suite suite =
      ParseText(absl::StrCat(kSuiteHead,
                             "  - name: burn\n"
                             "    stop_on_fail: true\n"
                             "    checks:\n"
                             "      - gpu-gemm\n"
                             "      - check: gpu-gemm\n"
                             "        when: [gpus, rdma, gpus]\n"
                             "        with: {types: [fp16, fp32], duration: 120}\n"
                             "        time_limit: 10m\n"
                             "  - {name: net, checks: [{check: nic-pair, when: nics, "
                             "max_rounds: 8}]}\n"
                             "  - {name: both, side_by_side: true, "
                             "checks: [gpu-gemm, nic-pair]}\n"))
          .value();
  EXPECT_EQ(suite.name, "s");
  EXPECT_EQ(suite.description, "d");
  EXPECT_FALSE(suite.admits);
  ASSERT_EQ(suite.stages.size(), 3u);
  const SuiteStage& burn = suite.stages[0];
  EXPECT_FALSE(burn.side_by_side);
  EXPECT_TRUE(suite.stages[2].side_by_side);
  EXPECT_TRUE(burn.stop_on_fail);
  EXPECT_FALSE(burn.IsShared());
  ASSERT_EQ(burn.checks.size(), 2u);
  EXPECT_EQ(burn.checks[0].time_limit, absl::Seconds(90) + absl::Minutes(3));
  EXPECT_THAT(burn.checks[1].parameters,
              ElementsAre(Pair("duration", "2m"), Pair("types", "fp16,fp32")));
  EXPECT_THAT(burn.checks[1].when, ElementsAre(Condition::kGpus, Condition::kRdma));
  EXPECT_EQ(burn.checks[1].time_limit, absl::Minutes(10));
  EXPECT_TRUE(suite.stages[1].IsShared());
  EXPECT_FALSE(suite.stages[1].stop_on_fail);
  EXPECT_EQ(suite.stages[1].checks[0].max_rounds, 8u);
}

TEST(ParseSuite, GpusMayCoolBesideTheTimeLimit) {
  const Suite suite =
      ParseSuite("playbooks/suites/s.yaml",
                 absl::StrCat(kSuiteHead,
                              "  - name: burn\n"
                              "    checks:\n"
                              "      - gpu-gemm\n"
                              "      - {check: gpu-gemm, time_limit: 4m, with: {cool-down: 90s}}\n"
                              "      - {check: gpu-memory, with: {cool-down: 0s}}\n"
                              "      - {check: cpu-stress, time_limit: 2m}\n"),
                 checks::Checks())
          .value();
  const std::vector<SuiteCheck>& burn = suite.stages[0].checks;
  EXPECT_EQ(burn[0].time_limit, absl::Seconds(90) + absl::Minutes(3) + absl::Minutes(5));
  EXPECT_EQ(burn[1].time_limit, absl::Minutes(4) + absl::Seconds(90));
  EXPECT_EQ(burn[2].time_limit, absl::Minutes(10));
  EXPECT_EQ(burn[3].time_limit, absl::Minutes(2));
}

TEST(ParseSuite, MayAdmit) {
  const std::string stages = "stages: [{name: a, checks: [gpu-gemm]}]\n";
  EXPECT_TRUE(ParseText("name: s\ndescription: d\nadmits: true\n" + stages)->admits);
  EXPECT_THAT(ParseText("name: s\ndescription: d\nadmit: true\n" + stages).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(ParseSuite, ErrorsNameThePlaceAndTheNearestWord) {
  struct Case {
    const char* stage;
    const char* error;
  };
  const Case cases[] = {
      {"  - {name: a, checks: [gpu-gem]}\n",
       "s.yaml:4:24: no check 'gpu-gem' (did you mean 'gpu-gemm'?)"},
      {"  - {name: a, checks: [x]}\n", "no check 'x' (known: gpu-gemm, nic-pair)"},
      {"  - {name: a, checks: [{check: gpu-gemm, with: {durration: 1m}}]}\n",
       "s.yaml:4:49: 'gpu-gemm' has no parameter 'durration' (did you mean 'duration'?)"},
      {"  - {name: a, checks: [{check: gpu-gemm, with: {types: fp61}}]}\n",
       "s.yaml:4:56: parameter types: 'fp61' is not one of"},
      {"  - {name: a, checks: [{check: gpu-gemm, with: {size: many}}]}\n",
       "s.yaml:4:55: parameter size: "},
      {"  - {name: a, checks: [{check: gpu-gemm, with: {size: 3}}]}\n",
       "s.yaml:4:55: parameter size: "},
      {"  - {name: a, checks: [{check: gpu-gemm, with: [1]}]}\n", "'with' must be a map"},
      {"  - {name: a, checks: [{check: gpu-gemm, when: gpu}]}\n",
       "no condition 'gpu' (did you mean 'gpus'?)"},
      {"  - {name: a, checks: [{check: gpu-gemm, max_rounds: 3}]}\n", "max_rounds is for checks"},
      {"  - {name: a, checks: [{check: nic-pair, max_rounds: 0}]}\n", "max_rounds must be from 1"},
      {"  - {name: a, checks: [{check: gpu-gemm, time_limit: 30s}]}\n",
       "time limit of 30s is not above the duration of 1m"},
      {"  - {name: a, checks: [{check: gpu-gemm, time_limit: 900h}]}\n",
       "a time limit must be from"},
      {"  - {name: a, checks: [{check: gpu-gemm, time_limit: 5}]}\n", "a duration with its unit"},
      {"  - {name: a, checks: []}\n", "'checks' must be a list with at least one entry"},
      {"  - {name: a}\n", "the stage lacks 'checks'"},
      {"  - {checks: [gpu-gemm]}\n", "the stage lacks 'name'"},
      {"  - {name: a, check: [gpu-gemm], checks: [gpu-gemm]}\n", "unknown key 'check'"},
      {"  - {name: a, checks: [{cheque: gpu-gemm}]}\n", "lacks 'check'"},
      {"  - {name: a, checks: [[gpu-gemm]]}\n", "expected a check"},
      {"  - {name: a, checks: [gpu-gemm]}\n  - {name: a, checks: [gpu-gemm]}\n",
       "a second stage 'a'"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(ParseText(absl::StrCat(kSuiteHead, c.stage)),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(c.error))))
        << c.stage;
  }
  EXPECT_THAT(ParseText("name: other\ndescription: d\nstages: [{name: a, checks: [gpu-gemm]}]\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseText(""), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseText(absl::StrCat(kSuiteHead, "  - {name: a, checks: [x]}\n",
                                     "  - {name: b, checks: [y], wen: 1}\n")),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(ParseSuite, RefusesWhatANodeWouldNotRunSideBySide) {
  const auto stage = [](absl::string_view checks, absl::string_view side_by_side = "true") {
    return ParseSuite("playbooks/suites/s.yaml",
                      absl::StrCat(kSuiteHead, "  - name: a\n    side_by_side: ", side_by_side,
                                   "\n    checks:\n", checks),
                      checks::Checks())
        .status();
  };
  const std::string two_loads =
      "      - gpu-memory\n      - cpu-stress\n      - {check: gpu-gemm, when: gpus}\n";
  EXPECT_THAT(stage(two_loads), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_OK(stage(two_loads, "false"));
  EXPECT_OK(stage("      - gpu-memory\n      - cpu-stress\n      - gpu-inventory\n"));
  std::string many;
  for (size_t i = 0; i < checks::kMaxChecksAtOnce; ++i) many += "      - clock\n";
  EXPECT_OK(stage(many));
  many += "      - clock\n      - clock\n";
  EXPECT_THAT(stage(many), StatusIs(absl::StatusCode::kInvalidArgument,
                                    AllOf(Said(), Not(HasSubstr("s.yaml:16")))));
  EXPECT_OK(stage(many, "false"));
}

TEST(ParseSuite, IsBounded) {
  std::string many = kSuiteHead;
  for (size_t i = 0; i <= kMaxStages; ++i) {
    absl::StrAppend(&many, "  - {name: s", i, ", checks: [gpu-gemm]}\n");
  }
  EXPECT_THAT(ParseText(many), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_FALSE(ParseText(absl::StrCat(kSuiteHead, std::string(1 << 20, '#'))).ok());
}

TEST(Conditions, HoldAsTheirNamesSay) {
  EXPECT_FALSE(NodeTraits().Has(Condition::kGpus));
  EXPECT_TRUE((NodeTraits{1, false, false}).Has(Condition::kGpus));
  EXPECT_FALSE((NodeTraits{1, false, false}).Has(Condition::kSeveralGpus));
  EXPECT_TRUE((NodeTraits{2, false, false}).Has(Condition::kSeveralGpus));
  EXPECT_TRUE((NodeTraits{0, true, false}).Has(Condition::kNics));
  EXPECT_TRUE((NodeTraits{0, false, true}).Has(Condition::kRdma));
  EXPECT_FALSE((NodeTraits{0, true, false}).Has(Condition::kRdma));
  EXPECT_FALSE(NodeTraits().Has(Condition::kMounts));
  NodeTraits mounts;
  mounts.mounts = true;
  EXPECT_TRUE(mounts.Has(Condition::kMounts));
  EXPECT_EQ(ConditionName(Condition::kSeveralGpus), "several_gpus");
  EXPECT_EQ(MissingName(Condition::kSeveralGpus), "several_gpus");
  EXPECT_FALSE(mounts.Has(Condition::kDisks));
  EXPECT_EQ(ConditionName(Condition::kDisks), "disks");
  EXPECT_EQ(MissingName(Condition::kDisks), "disk_paths");
}

}  // namespace
}  // namespace muster::controller::validation
