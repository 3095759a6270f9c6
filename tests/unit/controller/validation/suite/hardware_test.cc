#include "controller/validation/suite/hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/validation/test_catalog.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<HardwareLibrary> ParseOne(const std::string& text) {
  return ParseHardware({{"inventory/hardware/t4.yaml", text}}, kTestCatalog);
}

constexpr char kGpuHead[] = "kind: gpu\nmatch: [Tesla T4]\n";

std::string Limit(const std::string& rest) {
  return absl::StrCat(kGpuHead, "limits:\n  - {check: gpu-gemm, metric: tflops_median, ", rest,
                      "}\n");
}

TEST(ParseHardware, ReadsWhatIsThere) {
  const HardwareLibrary library =
      ParseOne(
          absl::StrCat(kGpuHead,
                       "power_watts: {value: 70, source: data sheet}\n"
                       "node_watts_per_gpu: {value: 120, source: server}\n"
                       "max_temperature_celsius: {value: 85, source: data sheet}\n"
                       "fleet: {percent: 3}\n"
                       "history: {deviations: 6}\n"
                       "limits:\n"
                       "  - {check: gpu-gemm, metric: tflops_median, variant: fp16, unit: TFLOPS,"
                       " floor: 30, peak: 65, source: measured}\n"
                       "  - {check: gpu-gemm, metric: errors, unit: \"1\", optional: true}\n"
                       "digests: [{name: d, value: 00ffaa1122, source: s}]\n"))
          .value();
  const HardwareModel* const model = library.Find("gpu", "tesla t4");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->name, "t4");
  EXPECT_DOUBLE_EQ(model->power_watts->value, 70);
  EXPECT_EQ(model->power_watts->source, "inventory/hardware/t4.yaml:3, data sheet");
  EXPECT_DOUBLE_EQ(model->node_watts_per_gpu->value, 120);
  EXPECT_DOUBLE_EQ(model->fleet.percent, 3);
  EXPECT_DOUBLE_EQ(model->fleet.deviations, 5);
  EXPECT_DOUBLE_EQ(model->history.deviations, 6);
  ASSERT_EQ(model->limits.size(), 2u);
  EXPECT_DOUBLE_EQ(*model->limits[0].floor, 30);
  EXPECT_EQ(model->limits[0].source, "inventory/hardware/t4.yaml:9, measured");
  EXPECT_FALSE(model->limits[1].floor.has_value());
  EXPECT_TRUE(model->limits[1].optional);
  EXPECT_EQ(model->limits[1].source, "inventory/hardware/t4.yaml:10");
  EXPECT_EQ(model->digests[0].value, "00ffaa1122");
  EXPECT_EQ(library.Find("nic", "Tesla T4"), nullptr);
  EXPECT_EQ(library.Find("gpu", "Tesla T40"), nullptr);
}

TEST(ParseHardware, TheLongestNameCounts) {
  const HardwareLibrary library =
      ParseHardware({{"a.yaml", "kind: gpu\nmatch: [NVIDIA A100*]\n"},
                     {"b.yaml", "kind: gpu\nmatch: [NVIDIA A100-SXM4-80GB, NVIDIA A100-SXM*]\n"}},
                    kTestCatalog)
          .value();
  EXPECT_EQ(library.Find("gpu", "NVIDIA A100-PCIE-40GB")->name, "a");
  EXPECT_EQ(library.Find("gpu", "NVIDIA A100-SXM4-80GB")->name, "b");
  EXPECT_EQ(library.Find("gpu", "NVIDIA A100-SXM4-40GB")->name, "b");
  EXPECT_EQ(PortName("ethernet", 10), "ethernet 10 Gbit/s");
  EXPECT_EQ(PortName("ethernet", 2.5), "ethernet 2.5 Gbit/s");
}

TEST(ParseHardware, ANodeDrawsAtLeastWhatItsGpusDo) {
  constexpr char kNode[] = "node_watts_per_gpu: {value: 650, source: s}\n";
  const auto parse = [&](const std::string& power) {
    return ParseOne(absl::StrCat(kGpuHead, power, kNode)).status();
  };
  EXPECT_OK(parse("power_watts: {value: 650, source: s}\n"));
  EXPECT_THAT(parse("power_watts: {value: 700, source: s}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(":4:29: "))));
  EXPECT_THAT(parse(""),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(":3:21: "))));
}

TEST(ParseHardware, FindsWhatCannotBeMeant) {
  struct Case {
    std::string text;
    const char* error;
  };
  const Case cases[] = {
      {Limit("unit: GFLOPS, floor: 30000, peak: 65000, source: s"),
       "t4.yaml:4:5: 'tflops_median' is in TFLOPS, not in GFLOPS"},
      {Limit("unit: TFLOPS, floor: 30000, peak: 65, source: s"),
       "the floor of 30000 TFLOPS is above the peak of 65 TFLOPS: is it in another unit?"},
      {Limit("unit: TFLOPS, floor: 0.03, peak: 65, source: s"), "less than a hundredth"},
      {Limit("unit: TFLOPS, floor: 30, peak: 65"), "the limit lacks 'source'"},
      {Limit("unit: TFLOPS, floor: 30, source: s"), "needs the 'peak'"},
      {Limit("unit: TFLOPS, floor: -1, peak: 3, source: s"), "must be 0 or above"},
      {Limit("unit: TFLOPS, floor: nan, peak: 3, source: s"), "must be 0 or above"},
      {Limit("unit: TFLOPS, ceiling: 30, source: s"), "can have a floor but no ceiling"},
      {Limit("unit: TFLOPS, flor: 30, source: s"), "unknown key 'flor'"},
      {Limit("floor: 30, peak: 65, source: s"),
       "inventory/hardware/t4.yaml:4:5: the limit lacks 'unit': 'tflops_median' is in TFLOPS; "
       "write "
       "unit: \"TFLOPS\" if the values are"},
      {Limit("unit: [TFLOPS], floor: 30, peak: 65, source: s"), "t4.yaml:4:"},
      {absl::StrCat(kGpuHead, "limits: [{check: gpu-gem, metric: x, unit: y}]\n"),
       "inventory/hardware/t4.yaml:3:18: no check 'gpu-gem' (did you mean 'gpu-gemm'?)"},
      {absl::StrCat(kGpuHead, "limits: [{check: gpu-gemm, metric: tflops_medain, unit: y}]\n"),
       "'gpu-gemm' does not measure 'tflops_medain' (did you mean 'tflops_median'?)"},
      {absl::StrCat(kGpuHead,
                    "limits: [{check: gpu-gemm, metric: errors, unit: \"1\", floor: 1, "
                    "source: s}]\n"),
       "it can have a ceiling but no floor"},
      {absl::StrCat(kGpuHead, "limits:\n",
                    "  - {check: gpu-gemm, metric: errors, unit: \"1\"}\n"
                    "  - {check: gpu-gemm, metric: errors, unit: \"1\"}\n"),
       "t4.yaml:5:5: a second limit of this metric"},
      {absl::StrCat(kGpuHead, "power_watts: {value: 70000, source: s}\n"),
       "is not the power of one card"},
      {absl::StrCat(kGpuHead, "power_watts: {value: 70}\n"), "lacks 'source'"},
      {absl::StrCat(kGpuHead, "power_watts: 70\n"), "expected a power_watts"},
      {absl::StrCat(kGpuHead, "max_temperature_celsius: {value: 185, source: s}\n"),
       "is not the limit of a chip"},
      {absl::StrCat(kGpuHead, "fleet: {percent: nan}\n"), "'percent' must be from 0 to 100"},
      {absl::StrCat(kGpuHead, "fleet: {deviations: 0}\n"), "'deviations' must be from 1 to 100"},
      {absl::StrCat(kGpuHead, "digests: [{name: d, value: XYZ, source: s}]\n"), "hexadecimal"},
      {absl::StrCat(kGpuHead, "limit: []\n"), "unknown key 'limit' in the hardware"},
      {"kind: cpu\nmatch: x\n", "'kind' must be gpu or nic, not 'cpu'"},
      {"kind: gpu\nmatch: [\"*\"]\n", "'match' takes names"},
      {"kind: gpu\nmatch: [\"a*b\"]\n", "'match' takes names"},
      {"match: x\n", "lacks 'kind'"},
      {"[]\n", "expected a hardware"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(ParseOne(c.text),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(c.error))))
        << c.text;
  }
  EXPECT_THAT(ParseHardware({{"a.yaml", kGpuHead}, {"b.yaml", kGpuHead}}, kTestCatalog),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller::validation
