#include "controller/validation/learning/hardware_learning.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/checks/catalog.h"
#include "controller/validation/suite/hardware_text.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPath[] = "inventory/hardware/l4.yaml";
// In the form of the shipped files, with a person's comments.
constexpr char kFile[] =
    "# Ours have no fan.\n"
    "kind: gpu\n"
    "match: [NVIDIA L4]\n"
    "power_watts: {value: 72, source: data sheet}\n"
    "limits:\n"
    "  # Row 3 is warm.\n"
    "  - check: gpu-gemm\n"
    "    metric: tflops_median\n"
    "    variant: fp16\n"
    "    unit: TFLOPS  # with sums in FP32\n"
    "    peak: 121\n"
    "    optional: true\n"
    "    source: \"NVIDIA data sheet, dense\"  # page 3\n"
    "  - check: gpu-memory\n"
    "    metric: memory_gbytes_per_s\n"
    "    unit: GB/s\n"
    "    floor: 150  # see #12\n"
    "    peak: 300\n"
    "    source: \"floor: DCGM; peak: data sheet\"\n"
    "  - {check: gpu-gemm, metric: tflops_median, unit: TFLOPS}\n";

LearnedMetric Metric(const char* check, const char* name, const std::string& variant, double median,
                     const std::string& model = "NVIDIA L4") {
  LearnedMetric metric;
  metric.kind = "gpu";
  metric.model = model;
  metric.check = checks::FindCheck(check);
  metric.metric = FindMetric(*metric.check, name);
  metric.variant = variant;
  ReachedValues values;
  for (uint32_t i = 0; i < 24; ++i) {
    values.subjects.insert(i);
    values.least_of_node[absl::StrCat("node", i / 4)] = median;
  }
  values.median = median;
  values.worst = values.best = median;
  values.driver = "535.261.03";
  metric.populations = {values};
  metric.suites = {"acceptance"};
  metric.newest_validation = "v-abc";
  metric.oldest = metric.newest =
      absl::FromCivil(absl::CivilSecond(2026, 11, 2), absl::UTCTimeZone());
  return metric;
}

HardwareLibrary ReadLibrary(const std::map<std::string, std::string>& files) {
  const auto library = ParseHardware(files, checks::Checks());
  EXPECT_OK(library.status());
  return library.value_or(HardwareLibrary());
}

// Proposals for one file.
v1::LearnedModel ProposeModel(const std::vector<LearnedMetric>& learned,
                              const std::map<std::string, std::string>& files) {
  const auto models = ProposeHardware(learned, ReadLibrary(files), files, {}, 0, checks::Checks());
  EXPECT_OK(models.status());
  EXPECT_THAT(*models, SizeIs(1));
  return models->at(0);
}

// The lines that a diff adds; REQUIRES: it creates a new file.
std::string Added(const std::string& diff) {
  std::string text;
  size_t line = 0;
  for (const absl::string_view row : absl::StrSplit(diff, '\n')) {
    if (line++ >= 3 && !row.empty()) absl::StrAppend(&text, row.substr(1), "\n");
  }
  return text;
}

TEST(HardwareLearning, PutsAFloorIntoTheFileAndKeepsWhatPeopleWrote) {
  const v1::LearnedModel model =
      ProposeModel({Metric("gpu-gemm", "tflops_median", "fp16", 100)}, {{kPath, kFile}});
  EXPECT_EQ(model.file(), kPath);
  EXPECT_EQ(model.fragment(), "");
  EXPECT_EQ(
      model.diff(),
      "--- a/inventory/hardware/l4.yaml\n"
      "+++ b/inventory/hardware/l4.yaml\n"
      "@@ -8,9 +8,10 @@\n"
      "     metric: tflops_median\n"
      "     variant: fp16\n"
      "     unit: TFLOPS  # with sums in FP32\n"
      "+    floor: 95\n"
      "     peak: 121\n"
      "     optional: true\n"
      "-    source: \"NVIDIA data sheet, dense\"  # page 3\n"
      "+    source: \"floor: measured on 24 GPUs of 6 nodes, 2026-11, driver 535.261.03, suite "
      "acceptance up to v-abc: median 100, least 100; peak: NVIDIA data sheet, dense\"  # page 3\n"
      "   - check: gpu-memory\n"
      "     metric: memory_gbytes_per_s\n"
      "     unit: GB/s\n");
}

TEST(HardwareLearning, RaisesAFloorAndNeverLowersOne) {
  const v1::LearnedModel higher =
      ProposeModel({Metric("gpu-memory", "memory_gbytes_per_s", "", 250)}, {{kPath, kFile}});
  EXPECT_THAT(higher.diff(),
              AllOf(HasSubstr("-    floor: 150  # see #12\n"),
                    HasSubstr("+    floor: 237  # see #12\n"), HasSubstr("; peak: data sheet\"")));
  EXPECT_DOUBLE_EQ(higher.limits(0).existing_floor(), 150);
  const v1::LearnedModel lower =
      ProposeModel({Metric("gpu-memory", "memory_gbytes_per_s", "", 155)}, {{kPath, kFile}});
  EXPECT_EQ(lower.diff(), "");
  EXPECT_FALSE(lower.limits(0).limit().has_floor());
  EXPECT_EQ(lower.limits(0).note(), "existing floor 150 stays: these results lead only to 147");
  const v1::LearnedModel below =
      ProposeModel({Metric("gpu-memory", "memory_gbytes_per_s", "", 140)}, {{kPath, kFile}});
  EXPECT_EQ(below.diff(), "");
  EXPECT_THAT(below.limits(0).note(),
              HasSubstr("existing floor 150 is above the worst good result 140"));
}

TEST(HardwareLearning, WhatAFloorWasBeforeIsSaid) {
  std::string text =
      "kind: nic\nmatch: [ethernet 10 Gbit/s]\nlimits:\n  - check: nic-pair\n"
      "    metric: send_gbits\n    unit: Gbit/s\n    floor: 8\n    peak: 10\n"
      "    source: a guess\n";
  for (const auto& [floor, source] : {std::pair(8.5, "floor: one; before: 8, a guess"),
                                      std::pair(8.9, "floor: one; before: 8.5, one")}) {
    text = WithFloors(kPath, text, {{"nic-pair", "send_gbits", "", "Gbit/s", floor, 0, "one", ""}},
                      checks::Checks())
               .value();
    EXPECT_THAT(text, HasSubstr(absl::StrCat("source: \"", source, "\"\n")));
  }
}

TEST(HardwareLearning, NewLimitsOfAFileHaveAPeak) {
  const std::map<std::string, std::string> files = {{kPath, kFile}};
  const v1::LearnedModel model =
      ProposeModel({Metric("gpu-copy", "host_to_gpu_gbytes_per_s", "", 25)}, files);
  EXPECT_THAT(model.diff(), AllOf(HasSubstr("+  - check: gpu-copy\n"), HasSubstr("+    peak: 30\n"),
                                  HasSubstr("+    floor: 23.7\n"), HasSubstr("plus a fifth")));
}

// The proposals, put into the files, can be read and pass the lint.
TEST(HardwareLearning, WhatIsProposedIsReadAgain) {
  const std::vector<FloorEntry> entries = {
      {"gpu-gemm", "tflops_median", "fp16", "TFLOPS", 95, 0, "measured: \"so\"", ""},
      {"gpu-gemm", "tflops_median", "bf16: new # 1", "TFLOPS", 91.2, 120, "measured", "guess"},
      {"gpu-memory", "memory_gbytes_per_s", "", "GB/s", 240, 0, "measured", ""},
      {"gpu-copy", "gpu_to_host_gbytes_per_s", "", "GB/s", 20, 32, "measured", "PCIe"},
  };
  const auto text = WithFloors(kPath, kFile, entries, checks::Checks());
  ASSERT_OK(text.status());
  const HardwareLibrary library = ReadLibrary({{kPath, *text}});
  const HardwareModel* const model = library.Find("gpu", "NVIDIA L4");
  ASSERT_NE(model, nullptr);
  ASSERT_THAT(model->limits, SizeIs(5));
  std::map<std::string, double> floors;
  for (const HardwareLimit& limit : model->limits) {
    floors[absl::StrCat(limit.metric, " ", limit.variant)] = limit.floor.value_or(0);
  }
  EXPECT_DOUBLE_EQ(floors["tflops_median fp16"], 95);
  EXPECT_DOUBLE_EQ(floors["tflops_median bf16: new # 1"], 91.2);
  EXPECT_DOUBLE_EQ(floors["memory_gbytes_per_s "], 240);
  EXPECT_DOUBLE_EQ(floors["gpu_to_host_gbytes_per_s "], 20);
  EXPECT_DOUBLE_EQ(floors["tflops_median "], 0);
  EXPECT_THAT(*text, AllOf(HasSubstr("# Ours have no fan."), HasSubstr("  # Row 3 is warm.\n"),
                           HasSubstr("# page 3"), HasSubstr("# see #12")));
  // Repeating it changes nothing: every floor is there.
  EXPECT_EQ(WithFloors(kPath, *text, {}, checks::Checks()).value(), *text);
}

TEST(HardwareLearning, AModelWithoutAFileGetsOne) {
  const v1::LearnedModel model = ProposeModel(
      {Metric("gpu-gemm", "tflops_median", "fp16", 100, "NVIDIA GeForce RTX 9090 Ti"),
       Metric("gpu-memory", "memory_gbytes_per_s", "", 2000, "NVIDIA GeForce RTX 9090 Ti")},
      {{kPath, kFile}});
  EXPECT_EQ(model.file(), "inventory/hardware/rtx_9090_ti.yaml");
  EXPECT_THAT(model.diff(),
              HasSubstr("--- /dev/null\n+++ b/inventory/hardware/rtx_9090_ti.yaml\n@@ -0,0 +1,"));
  const HardwareLibrary library =
      ReadLibrary({{model.file(), Added(model.diff())}, {kPath, kFile}});
  const HardwareModel* const read = library.Find("gpu", "NVIDIA GeForce RTX 9090 Ti");
  ASSERT_NE(read, nullptr);
  ASSERT_THAT(read->limits, SizeIs(2));
  EXPECT_DOUBLE_EQ(*read->limits[0].floor, 95);
  EXPECT_TRUE(read->limits[0].optional);
}

TEST(HardwareLearning, OneFileOfSeveralModelsHasFloorsForAll) {
  const std::map<std::string, std::string> files = {
      {"inventory/hardware/p100.yaml", "kind: gpu\nmatch: [Tesla P100*]\n"}};
  const v1::LearnedModel model =
      ProposeModel({Metric("gpu-gemm", "tflops_median", "fp32", 9, "Tesla P100-SXM2-16GB"),
                    Metric("gpu-gemm", "tflops_median", "fp32", 8, "Tesla P100-PCIE-16GB")},
                   files);
  EXPECT_THAT(model.diff(), HasSubstr("+limits:\n+  - check: gpu-gemm\n"));
  EXPECT_DOUBLE_EQ(model.limits(0).limit().floor(), 7.6);
}

TEST(HardwareLearning, WhatCannotBeChangedSafelyIsForAPersonToPutIn) {
  for (const std::string& rest :
       {std::string("limits: [{check: gpu-gemm, metric: tflops_median, variant: fp16, unit: "
                    "TFLOPS, peak: 121, source: s}]\n"),
        std::string("limits:\n  - {check: gpu-gemm, metric: tflops_median, variant: fp16,\n     "
                    "unit: TFLOPS, peak: 121, source: s}\n"),
        std::string(
            "limits:\n  - check: gpu-gemm\n    metric: tflops_median\n    variant: fp16\n"
            "    unit: TFLOPS\n    peak: 121\n    source: >\n      the data\n      sheet\n"),
        std::string("limits:\n  - check: gpu-gemm\n    metric: tflops_median\n    variant: fp16\n"
                    "    unit: TFLOPS\n    peak: 121\n    source: the data\n      sheet\n")}) {
    const v1::LearnedModel model =
        ProposeModel({Metric("gpu-gemm", "tflops_median", "fp16", 100)},
                     {{kPath, absl::StrCat("kind: gpu\nmatch: [NVIDIA L4]\n", rest)}});
    EXPECT_EQ(model.diff(), "") << rest;
    EXPECT_THAT(model.fragment(), HasSubstr("    floor: 95\n")) << rest;
    ASSERT_THAT(model.notes(), SizeIs(1)) << rest;
    EXPECT_THAT(model.notes(0), HasSubstr("by hand"));
  }
}

TEST(HardwareLearning, ModelsAreChosenByFileOrName) {
  const std::map<std::string, std::string> files = {{kPath, kFile}};
  const std::vector<LearnedMetric> learned = {
      Metric("gpu-gemm", "tflops_median", "fp16", 100),
      Metric("gpu-gemm", "tflops_median", "fp16", 300, "NVIDIA B9")};
  const auto choose = [&](const std::vector<std::string>& models) {
    return ProposeHardware(learned, ReadLibrary(files), files, models, 0, checks::Checks());
  };
  EXPECT_THAT(choose({}).value(), SizeIs(2));
  EXPECT_THAT(choose({"l4"}).value(), SizeIs(1));
  EXPECT_THAT(choose({"nvidia b9"}).value(), SizeIs(1));
  EXPECT_THAT(choose({"NVIDIA*"}).value(), SizeIs(2));
  EXPECT_THAT(choose({"l4", "h100"}), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST(HardwareText, PathsAreWordsOfTheModel) {
  EXPECT_EQ(NewHardwarePath("NVIDIA H100 80GB HBM3"), "inventory/hardware/h100_80gb_hbm3.yaml");
  EXPECT_EQ(NewHardwarePath("ethernet 2.5 Gbit/s"), "inventory/hardware/ethernet_2_5_gbit_s.yaml");
  EXPECT_EQ(NewHardwarePath("../../etc/x"), "inventory/hardware/etc_x.yaml");
  EXPECT_EQ(NewHardwarePath("…"), "inventory/hardware/model.yaml");
}

}  // namespace
}  // namespace muster::controller::validation
