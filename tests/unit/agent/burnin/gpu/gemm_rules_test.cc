// The rules about products, without a GPU: peaks, agreement of GPUs, and the host's own sums.
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/burnin/gpu/gemm/fleet.h"
#include "agent/burnin/gpu/gemm/golden.h"
#include "agent/burnin/gpu/gemm/peaks.h"
#include "agent/burnin/gpu/number.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::burnin {
namespace {

using kernels::Element;
using ::muster::testing::Said;
using ::testing::IsEmpty;

// Peaks of the data sheets, from processors and boost clock.
TEST(OperationsPerClock, GivesThePeaksOfTheDataSheets) {
  struct Case {
    int capability;
    const char* model;
    Element type;
    bool tensor;
    double processors, ghz, tflops;
  };
  const Case cases[] = {
      {70, "Tesla V100-SXM2-32GB", Element::kF16, true, 80, 1.53, 125},
      {75, "Tesla T4", Element::kF16, true, 40, 1.59, 65},
      {75, "Tesla T4", Element::kS8, true, 40, 1.59, 130},
      {75, "NVIDIA GeForce RTX 2080 Ti", Element::kF16, true, 68, 1.635, 56.9},
      {80, "NVIDIA A100-SXM4-80GB", Element::kBf16, true, 108, 1.41, 312},
      {80, "NVIDIA A100-SXM4-80GB", Element::kTf32, true, 108, 1.41, 156},
      {89, "NVIDIA L40S", Element::kE4m3, true, 142, 2.52, 733},
      {90, "NVIDIA H100 80GB HBM3", Element::kF16, true, 132, 1.83, 989},
      {90, "NVIDIA H100 80GB HBM3", Element::kF32, false, 132, 1.98, 67},
      {90, "NVIDIA H200", Element::kF16, true, 132, 1.83, 989},
      {90, "NVIDIA H800", Element::kF16, true, 132, 1.83, 989},
      {100, "NVIDIA B200", Element::kF16, true, 148, 1.86, 2250},
      {100, "NVIDIA B200", Element::kF64, false, 148, 1.96, 37},
      {103, "NVIDIA B300", Element::kE4m3, true, 148, 1.86, 4500},
      {120, "NVIDIA GeForce RTX 5090", Element::kF32, false, 170, 2.41, 104.8},
  };
  for (const Case& c : cases) {
    const auto operations = OperationsPerClock(c.capability, c.model, c.type, c.tensor);
    ASSERT_TRUE(operations.has_value()) << c.model;
    EXPECT_NEAR(*operations * c.processors * c.ghz / 1e3, c.tflops, 0.02 * c.tflops) << c.model;
  }
}

TEST(OperationsPerClock, IsUnknownWhereNobodyHasSaid) {
  EXPECT_FALSE(OperationsPerClock(130, "NVIDIA GeForce RTX 6090", Element::kF16, true));
  // They share the chip of H100, but not all of its units.
  for (const Element type : {Element::kF16, Element::kE4m3, Element::kS8})
    EXPECT_FALSE(OperationsPerClock(90, "NVIDIA H20", type, true));
  EXPECT_FALSE(OperationsPerClock(90, "NVIDIA H20-3e", Element::kF32, false));
  EXPECT_FALSE(OperationsPerClock(90, "NVIDIA H800", Element::kF64, true));
  EXPECT_FALSE(OperationsPerClock(103, "NVIDIA B300", Element::kF64, false));
  // Turing without tensor cores.
  EXPECT_FALSE(OperationsPerClock(75, "NVIDIA GeForce GTX 1660", Element::kF16, true));
  EXPECT_FALSE(OperationsPerClock(61, "NVIDIA GeForce GTX 1080 Ti", Element::kF16, true));
}

CheckResult WithDigests(const std::vector<std::pair<std::string, std::string>>& model_and_value) {
  CheckResult result;
  for (const auto& [model, value] : model_and_value) {
    const std::string id = "GPU-" + std::to_string(result.subjects.size());
    result.subjects.push_back({.id = id, .kind = "gpu", .model = model, .slot = "slot of " + id});
    result.digests.push_back({.name = "gemm", .subject = id, .value = value});
  }
  CompareDigests(result);
  return result;
}

TEST(CompareDigests, BlamesTheOneThatDiffers) {
  const CheckResult result = WithDigests({{"a", "1"}, {"a", "2"}, {"a", "1"}, {"a", "1"}});
  ASSERT_EQ(result.faults.size(), 1);
  EXPECT_EQ(result.faults[0].code, "digest_mismatch");
  EXPECT_EQ(result.faults[0].subject, "GPU-1");
  EXPECT_THAT(result.faults[0].message, Said());
}

TEST(CompareDigests, BlamesAllWhereNobodyHasAMajority) {
  EXPECT_EQ(WithDigests({{"a", "1"}, {"a", "2"}}).faults.size(), 2);
  EXPECT_EQ(WithDigests({{"a", "1"}, {"a", "1"}, {"a", "2"}, {"a", "2"}}).faults.size(), 4);
}

TEST(CompareDigests, ComparesGpusOfOneModelAlone) {
  EXPECT_THAT(WithDigests({{"a", "1"}, {"b", "2"}, {"a", "1"}}).faults, IsEmpty());
}

// Checks the C that the host computes from the matrices; `spoil` may change an element.
std::vector<std::string> Check(const GoldenMatrices& matrices,
                               const std::function<double(uint64_t, double)>& spoil) {
  const auto bits_at = [&](uint64_t index) -> absl::StatusOr<uint64_t> {
    double sum = 0;
    for (uint64_t k = 0; k < matrices.size; ++k)
      sum +=
          ValueOf(matrices.type, kernels::ElementBits(matrices.type, matrices.seed_a,
                                                      index / matrices.size * matrices.size + k)) *
          ValueOf(matrices.type, kernels::ElementBits(matrices.type, matrices.seed_b,
                                                      index % matrices.size * matrices.size + k));
    const double value = spoil(index, sum);
    if (matrices.type == Element::kS8) return static_cast<uint32_t>(static_cast<int32_t>(value));
    const auto single = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &single, sizeof(bits));
    return bits;
  };
  return CheckGolden(matrices, bits_at).value();
}

TEST(CheckGolden, TakesRightSumsAndRefusesWrongOnes) {
  for (const Element type :
       {Element::kF32, Element::kF16, Element::kBf16, Element::kE4m3, Element::kS8}) {
    const GoldenMatrices matrices = {type, 128, 2, 3};
    EXPECT_THAT(Check(matrices, [](uint64_t, double sum) { return sum; }), IsEmpty());
    // A lost sign or scale: all but those that happen to be near zero.
    EXPECT_GT(Check(matrices, [](uint64_t, double sum) { return -sum; }).size(),
              kGoldenSamples * 9 / 10);
    EXPECT_GT(Check(matrices, [](uint64_t, double sum) { return sum * 1.5 + 1; }).size(),
              kGoldenSamples / 2);
    EXPECT_EQ(Check(matrices,
                    [type](uint64_t, double sum) {
                      return type == Element::kS8 ? sum + 1 : std::nan("");
                    })
                  .size(),
              kGoldenSamples);
  }
}

}  // namespace
}  // namespace muster::burnin
