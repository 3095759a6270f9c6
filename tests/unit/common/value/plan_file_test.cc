#include "common/value/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "muster/v1/plan_file.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

v1::PlanFile Example() {
  v1::PlanFile file;
  file.set_cluster("adm");
  file.set_inventory_revision(uint64_t{1} << 60);
  (*file.mutable_extra_vars())["b"] = "\"<x>\"";
  (*file.mutable_extra_vars())["a"] = "1";
  v1::PlannedStep& step = *file.add_plays()->add_steps();
  step.set_step_id("base/motd");
  v1::PlannedOutcome& outcome = *step.add_outcomes();
  outcome.set_nodes("c[001-003]");
  outcome.set_status(v1::STEP_STATUS_CHANGED);
  v1::Change& change = *outcome.add_changes();
  change.set_field("content");
  change.set_diff("-<old>\n+\"new\"\n");
  v1::PreviewRolloutResponse& rollout = *file.mutable_rollout();
  rollout.mutable_rollout()->mutable_request()->set_max_unavailable("12%");
  rollout.mutable_longest_drain()->set_seconds(11400);
  return file;
}

TEST(PlanFile, ReadsWhatItWrote) {
  const absl::StatusOr<std::string> text = WritePlanFile(Example());
  ASSERT_OK(text);
  EXPECT_TRUE(LooksLikePlanFile(*text));
  // For reviewers: names as in the contract, nothing escaped.
  EXPECT_THAT(*text, HasSubstr("\"step_id\": \"base/motd\""));
  EXPECT_THAT(*text, HasSubstr("STEP_STATUS_CHANGED"));
  EXPECT_THAT(*text, HasSubstr("-<old>"));
  const absl::StatusOr<v1::PlanFile> read = ReadPlanFile(*text);
  ASSERT_OK(read);
  EXPECT_EQ(read->inventory_revision(), uint64_t{1} << 60);
  EXPECT_EQ(read->extra_vars().at("b"), "\"<x>\"");
  EXPECT_EQ(read->rollout().rollout().request().max_unavailable(), "12%");
  EXPECT_EQ(read->rollout().longest_drain().seconds(), 11400);
  EXPECT_EQ(read->plays(0).steps(0).outcomes(0).changes(0).diff(), "-<old>\n+\"new\"\n");
  EXPECT_EQ(*WritePlanFile(*read), *text);
}

TEST(PlanFile, OtherBlanksDoNotMatterAndOtherWordsDo) {
  const std::string text = *WritePlanFile(Example());
  EXPECT_OK(ReadPlanFile(absl::StrReplaceAll(text, {{"\n", "\n  "}})));
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {"c[001-003]", "c[001-004]"},
           {"STEP_STATUS_CHANGED", "STEP_STATUS_OK"},
           {"base/motd", "base/motb"},
           {"12%", "92%"},
           {"\"cluster\": \"adm\",", ""},
       }) {
    const std::string edited = absl::StrReplaceAll(text, {{from, to}});
    ASSERT_NE(edited, text);
    EXPECT_THAT(ReadPlanFile(edited).status(), StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << from;
  }
}

TEST(PlanFile, SaysWhatIsNoPlanFile) {
  EXPECT_FALSE(LooksLikePlanFile("- play: site\n"));
  EXPECT_FALSE(LooksLikePlanFile(""));
  for (const char* text : {"", "{", "[1]", "{}", "{\"format\": \"1\"}", "- play: x"}) {
    EXPECT_THAT(ReadPlanFile(text).status(), StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << text;
  }
  EXPECT_THAT(ReadPlanFile("{\"format\": 2, \"new\": []}").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ReadPlanFile("{\"format\": 1, \"unknown\": 3}").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster
