#include "cli/render/validation/hardware_report.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace muster::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

v1::HardwareModel Model() {
  v1::HardwareModel model;
  model.set_name("l4");
  model.set_kind("gpu");
  model.add_match("NVIDIA L4");
  model.set_power_watts(72);
  model.set_power_source("inventory/hardware/l4.yaml:4, data sheet");
  v1::HardwareLimit& limit = *model.add_limits();
  limit.set_check("gpu-memory");
  limit.set_metric("memory_gbytes_per_s");
  limit.set_unit("GB/s");
  limit.set_floor(240);
  limit.set_peak(300);
  limit.set_source("inventory/hardware/l4.yaml:12, measured");
  *model.add_limits() = limit;
  model.mutable_limits(1)->clear_floor();
  model.mutable_limits(1)->set_variant("x");
  return model;
}

TEST(HardwareReport, ListsFilesAndWhatNoFileKnows) {
  v1::ReadHardwareResponse response;
  *response.add_models() = Model();
  response.add_notes("no file in inventory/hardware matches gpu 'NVIDIA L5' of c001");
  const std::string text = RenderHardwareList(response);
  EXPECT_THAT(text, AllOf(HasSubstr("NVIDIA L4"), HasSubstr("72 W"), HasSubstr("! no file in")));
}

TEST(HardwareReport, ShowsEachLimitWithItsSource) {
  const std::string text = RenderHardwareModel(Model());
  EXPECT_THAT(text, AllOf(HasSubstr("72 W each: inventory/hardware/l4.yaml:4, data sheet"),
                          HasSubstr("at least 240"), HasSubstr("to be measured"),
                          HasSubstr("l4.yaml:12, measured")));
}

TEST(HardwareReport, WhatIsLearnedCanBeAppliedAsItIs) {
  v1::LearnHardwareResponse response;
  response.set_results(120);
  response.set_nodes(6);
  response.add_notes("2 results are damaged in the store");
  v1::LearnedModel& model = *response.add_models();
  model.set_model("NVIDIA L4\n--- a/evil");
  model.set_file("inventory/hardware/l4.yaml");
  model.set_diff(
      "--- a/inventory/hardware/l4.yaml\n+++ b/inventory/hardware/l4.yaml\n@@ -1 +1 @@\n");
  v1::LearnedLimit& limit = *model.add_limits();
  *limit.mutable_limit() = Model().limits(0);
  limit.mutable_limit()->set_variant("+++ b/evil");
  limit.set_subjects(24);
  limit.set_note("a note");
  v1::LearnedModel& by_hand = *response.add_models();
  by_hand.set_fragment("  - check: gpu-memory\n    floor: 240\n");
  by_hand.add_notes("by hand");
  const std::string text = RenderLearned(response);
  EXPECT_THAT(text, AllOf(HasSubstr("# 120 good results of 6 nodes\n# 2 results are damaged"),
                          HasSubstr("a note"), HasSubstr("#   - check: gpu-memory\n")));
  // Apart from comments there is only the diff.
  std::string rest;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty() && !absl::StartsWith(line, "#")) rest += std::string(line) + "\n";
  }
  EXPECT_EQ(rest, model.diff());
  EXPECT_THAT(RenderLearned({}), HasSubstr("nothing to learn from"));
}

}  // namespace
}  // namespace muster::cli
