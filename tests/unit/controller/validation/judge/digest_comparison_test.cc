#include "controller/validation/judge/digest_comparison.h"
#include "tests/fixtures/golden_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controller/validation/verdict_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;

void AddDigest(v1::CheckResult& result, const std::string& name, const std::string& subject,
               const std::string& value) {
  v1::Digest& digest = *result.add_digests();
  digest.set_name(name);
  digest.set_subject(subject);
  digest.set_value(value);
}

TEST_F(VerdictTest, MinorityComputesWrongly) {
  for (int i = 0; i < 2; ++i) {
    v1::CheckResult result = Result();
    AddDigest(result, "gemm fp16", "g0", "aaaa");
    AddDigest(result, "gemm fp16", "g1", i == 1 ? "bbbb" : "aaaa");
    AddNode(result);
  }
  JudgeBy<DigestComparison>();
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdicts_[1].reason(), Said());
}

// However many GPUs a node claims to have, it has one vote.
TEST_F(VerdictTest, ManyGpusOfOneNodeAreNoMajority) {
  for (int i = 0; i < 3; ++i) {
    v1::CheckResult result = Result();
    for (int gpu = 0; gpu < (i == 2 ? 100 : 2); ++gpu)
      AddDigest(result, "gemm fp16", absl::StrCat("g", gpu % 2), i == 2 ? "bbbb" : "aaaa");
    AddNode(result);
  }
  JudgeBy<DigestComparison>();
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(verdicts_[2].outcome(), v1::OUTCOME_FAIL);
}

TEST_F(VerdictTest, OfTwoNodesThatDifferNobodyKnowsWhichIsWrong) {
  for (int i = 0; i < 2; ++i) {
    v1::CheckResult result = Result();
    for (int gpu = 0; gpu < (i == 1 ? 100 : 2); ++gpu)
      AddDigest(result, "gemm fp16", absl::StrCat("g", gpu % 2), i == 1 ? "bbbb" : "aaaa");
    AddNode(result);
  }
  JudgeBy<DigestComparison>();
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(verdicts_[1].outcome(), v1::OUTCOME_UNKNOWN);
}

TEST_F(VerdictTest, OfTwoThatDifferNobodyKnowsWhichIsWrong) {
  v1::CheckResult result = Result();
  AddDigest(result, "gemm fp16", "g0", "aaaa");
  AddDigest(result, "gemm fp16", "g1", "bbbb");
  AddNode(result);
  JudgeBy<DigestComparison>();
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(verdicts_[0].reason(), Said());
}

TEST_F(VerdictTest, GoldenDigest) {
  v1::CheckResult result = Result();
  AddDigest(result, "gemm int8", "g0", "0123456789ab");
  AddDigest(result, "gemm int8", "g1", "ffffffffffff");
  AddNode(result);
  JudgeBy<DigestComparison>();
  EXPECT_EQ(verdicts_[0].outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(verdicts_[0].reason(), Said());
}

}  // namespace
}  // namespace muster::controller::validation
