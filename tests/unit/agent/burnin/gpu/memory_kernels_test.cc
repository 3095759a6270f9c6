// No flipped bit of a memory pattern escapes.
#include <random>
#include <set>
#include <vector>

#include "agent/burnin/gpu/kernels/pattern.h"
#include "agent/burnin/gpu/kernels/report.h"
#include "tests/unit/agent/burnin/gpu/kernel_on_host.h"

namespace muster::burnin {
namespace {

using kernels::Pattern;

// The last block of threads has fewer of them than it takes at a time.
constexpr uint64_t kWords = 4096 + 34, kSeed = 5;

class MemoryPatternTest : public ::testing::TestWithParam<Pattern> {
 protected:
  kernels::Report Write(uint64_t round) {
    kernels::Report report = {};
    RunKernel("memory_write", {3, 1, 1}, 32, memory_.data(), kWords, pattern(), round, kSeed,
              &report);
    return report;
  }
  kernels::Report Verify(uint64_t round) {
    kernels::Report report = {};
    RunKernel("memory_verify", {3, 1, 1}, 32, memory_.data(), kWords, pattern(), round, kSeed,
              &report);
    return report;
  }
  kernels::Report Invert(uint64_t round, uint64_t inverted) {
    kernels::Report report = {};
    RunKernel("memory_invert", {3, 1, 1}, 32, memory_.data(), kWords, pattern(), round, kSeed,
              inverted, &report);
    return report;
  }
  int pattern() const { return static_cast<int>(GetParam()); }
  uint64_t AddressOf(size_t word) const { return reinterpret_cast<uint64_t>(&memory_[word]); }

  std::vector<uint64_t> memory_ = std::vector<uint64_t>(kWords);
};

TEST_P(MemoryPatternTest, FindsNothingInGoodMemory) {
  for (uint64_t round = 0; round < 4; ++round) {
    const kernels::Report written = Write(round);
    const kernels::Report report = Verify(round);
    EXPECT_EQ(report.mismatches, 0);
    EXPECT_EQ(written.digest, report.digest);
    uint64_t sum = 0;
    for (size_t i = 0; i < kWords; ++i)
      sum += kernels::PatternWord(GetParam(), round, kSeed, AddressOf(i));
    EXPECT_EQ(report.digest, sum);
  }
}

TEST_P(MemoryPatternTest, FindsEachOfAThousandFlippedBits) {
  std::mt19937_64 random(20261121);
  Write(0);
  for (int i = 0; i < 1000; ++i) {
    const size_t place = random() % kWords;
    const uint64_t bit = uint64_t{1} << random() % 64;
    memory_[place] ^= bit;
    const kernels::Report report = Verify(0);
    ASSERT_EQ(report.mismatches, 1) << place;
    EXPECT_EQ(report.first[0].place, AddressOf(place));
    EXPECT_EQ(report.first[0].expected ^ report.first[0].read, bit);
    memory_[place] ^= bit;
  }
}

TEST_P(MemoryPatternTest, InvertsBackAndForthAndFindsWhatFlippedBetween) {
  Write(1);
  EXPECT_EQ(Invert(1, 0).mismatches, 0);
  memory_[77] ^= 4;
  const kernels::Report report = Invert(1, 1);
  ASSERT_EQ(report.mismatches, 1);
  EXPECT_EQ(report.first[0].place, AddressOf(77));
  EXPECT_EQ(Verify(1).mismatches, 0);  // repaired by the write
}

INSTANTIATE_TEST_SUITE_P(Patterns, MemoryPatternTest,
                         ::testing::Values(Pattern::kWalkingOnes, Pattern::kWalkingZeros,
                                           Pattern::kSolid, Pattern::kAddress, Pattern::kRandom));

TEST(PatternTest, EachBitOfAWordWalksThroughAllPlaces) {
  std::set<uint64_t> words;
  for (uint64_t round = 0; round < 64; ++round)
    words.insert(kernels::PatternWord(Pattern::kWalkingOnes, round, 0, 4096));
  EXPECT_EQ(words.size(), 64);
}

TEST(MemoryCopyTest, CopiesEveryByte) {
  alignas(16) uint64_t source[64], target[66] = {};
  for (int i = 0; i < 64; ++i) source[i] = kernels::Mix(i);
  RunKernel("memory_copy", {2, 1, 1}, 2, &target[0], &source[0], uint64_t{27});
  for (int i = 0; i < 54; ++i) EXPECT_EQ(target[i], source[i]);
  for (int i = 54; i < 66; ++i) EXPECT_EQ(target[i], 0);
}

}  // namespace
}  // namespace muster::burnin
