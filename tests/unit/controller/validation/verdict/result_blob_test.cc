#include "controller/validation/verdict/result_blob.h"
#include "tests/fixtures/golden_texts.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::SizeIs;

TEST(ResultBlob, ComesBackAsItWas) {
  v1::CheckResult result;
  result.set_check("gpu-gemm");
  for (int i = 0; i < 5000; ++i) result.add_samples()->set_metric("power_watts");
  const std::string blob = PackResult(result);
  EXPECT_LT(blob.size(), result.ByteSizeLong() / 10);
  EXPECT_EQ(UnpackResult(blob)->samples_size(), 5000);
  EXPECT_THAT(UnpackResult(blob.substr(0, blob.size() / 2)),
              StatusIs(absl::StatusCode::kDataLoss, Said()));
  EXPECT_THAT(UnpackResult(""), StatusIs(absl::StatusCode::kDataLoss, Said()));
}

TEST(ResultBlob, DroppedSamplesTakeNoMemory) {
  v1::CheckResult result;
  result.set_check("gpu-gemm");
  const size_t bare = result.SpaceUsedLong();
  for (int i = 0; i < 5000; ++i) result.add_samples()->set_metric("power_watts");
  DropSamples(result);
  EXPECT_EQ(result.samples_size(), 0);
  EXPECT_EQ(result.SpaceUsedLong(), bare);
  EXPECT_EQ(result.check(), "gpu-gemm");
}

TEST(ResultBlob, WhatAnAgentMadeUpIsNotJudged) {
  v1::CheckResult sent;
  sent.set_outcome(static_cast<v1::Outcome>(99));
  sent.set_seconds(-1);
  sent.add_metrics()->set_value(std::numeric_limits<double>::quiet_NaN());
  sent.add_metrics()->set_value(7);
  sent.add_samples()->set_value(std::numeric_limits<double>::infinity());
  const v1::CheckResult result = Sanitize(sent);
  EXPECT_EQ(result.outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_EQ(result.seconds(), 0);
  ASSERT_THAT(result.metrics(), SizeIs(1));
  EXPECT_EQ(result.metrics(0).value(), 7);
  EXPECT_THAT(result.samples(), SizeIs(0));
}

}  // namespace
}  // namespace muster::controller::validation
