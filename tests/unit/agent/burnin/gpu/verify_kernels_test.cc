// No flipped bit and no NaN in C escapes.
#include <random>
#include <vector>

#include "agent/burnin/gpu/kernels/modules.h"
#include "agent/burnin/gpu/kernels/report.h"
#include "tests/unit/agent/burnin/gpu/kernel_on_host.h"

namespace muster::burnin {
namespace {

constexpr uint64_t kF32Exponent = 0x7f800000, kF64Exponent = uint64_t{0x7ff} << 52;
constexpr size_t kVerifiedWords = 10'000;

template <typename Word>
class VerifyTest : public ::testing::Test {
 protected:
  static constexpr bool kWide = sizeof(Word) == 8;
  VerifyTest() : golden_(kVerifiedWords) {
    for (size_t i = 0; i < kVerifiedWords; ++i)
      golden_[i] =
          kernels::ElementBits(kWide ? kernels::Element::kF64 : kernels::Element::kF32, 1, i);
    read_ = golden_;
  }
  // `read_` has one result or more, one behind the other.
  kernels::Report Compare() {
    kernels::Report report = {};
    RunKernel(kWide ? "compare_words64" : "compare_words32", {3, 1, 1}, 64, read_.data(),
              uint64_t{read_.size() / kVerifiedWords}, golden_.data(), uint64_t{kVerifiedWords},
              kWide ? kF64Exponent : kF32Exponent, &report);
    return report;
  }
  uint64_t Digest() {
    kernels::Report report = {};
    RunKernel(kWide ? "digest_words64" : "digest_words32", {3, 1, 1}, 64, read_.data(),
              uint64_t{kVerifiedWords}, uint64_t{0}, &report);
    return report.digest;
  }
  std::vector<Word> golden_, read_;
};
using Words = ::testing::Types<uint32_t, uint64_t>;
TYPED_TEST_SUITE(VerifyTest, Words);

TYPED_TEST(VerifyTest, FindsNothingInAGoodResult) {
  const kernels::Report report = this->Compare();
  EXPECT_EQ(report.mismatches, 0);
  EXPECT_EQ(report.not_finite, 0);
}

TYPED_TEST(VerifyTest, FindsEachOfAThousandFlippedBits) {
  std::mt19937_64 random(20261121);
  const uint64_t clean = this->Digest();
  for (int i = 0; i < 1000; ++i) {
    const size_t place = random() % kVerifiedWords;
    const int bit = static_cast<int>(random() % (8 * sizeof(TypeParam)));
    this->read_[place] ^= TypeParam{1} << bit;
    const kernels::Report report = this->Compare();
    ASSERT_EQ(report.mismatches, 1) << "bit " << bit << " of word " << place;
    EXPECT_EQ(report.first[0].place, place);
    EXPECT_EQ(report.first[0].expected, this->golden_[place]);
    EXPECT_EQ(report.first[0].read, this->read_[place]);
    EXPECT_NE(this->Digest(), clean);
    this->read_[place] = this->golden_[place];
  }
}

TYPED_TEST(VerifyTest, FindsEachOfAThousandFlippedBitsAmongManyResults) {
  constexpr size_t kResults = 7;  // some are read together, some alone
  for (size_t i = 1; i < kResults; ++i)
    this->read_.insert(this->read_.end(), this->golden_.begin(), this->golden_.end());
  std::mt19937_64 random(20261126);
  for (int i = 0; i < 1000; ++i) {
    const size_t place = random() % this->read_.size();
    const TypeParam bit = TypeParam{1} << random() % (8 * sizeof(TypeParam));
    this->read_[place] ^= bit;
    const kernels::Report report = this->Compare();
    ASSERT_EQ(report.mismatches, 1) << place;
    EXPECT_EQ(report.first[0].place, place);
    EXPECT_EQ(report.first[0].expected ^ report.first[0].read, bit);
    this->read_[place] ^= bit;
  }
}

TYPED_TEST(VerifyTest, CountsEveryMismatchButKeepsTheFirst) {
  for (size_t i = 0; i < 500; ++i) this->read_[i * 7] ^= 1;
  const kernels::Report report = this->Compare();
  EXPECT_EQ(report.mismatches, 500);
  EXPECT_EQ(report.records, 500);
  EXPECT_EQ(report.first[kernels::Report::kMaxRecords - 1].read ^ 1,
            report.first[kernels::Report::kMaxRecords - 1].expected);
}

// Comparing floating-point values would miss the first difference, and the golden result may itself
// be wrong.
TYPED_TEST(VerifyTest, FindsNanAndInfinityEvenWhereTheyWereExpected) {
  const auto exponent =
      static_cast<TypeParam>(sizeof(TypeParam) == 8 ? kF64Exponent : kF32Exponent);
  this->read_[5] = exponent | 1;
  this->golden_[5] = this->read_[5];
  this->read_[6] = exponent;
  const kernels::Report report = this->Compare();
  EXPECT_EQ(report.not_finite, 2);
  EXPECT_EQ(report.mismatches, 1);
}

TYPED_TEST(VerifyTest, DigestTellsExchangedWordsApart) {
  const uint64_t clean = this->Digest();
  std::swap(this->read_[1], this->read_[2]);
  EXPECT_NE(this->Digest(), clean);
}

}  // namespace
}  // namespace muster::burnin
