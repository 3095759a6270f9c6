#include "controller/metrics/call_durations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(CallDurations, CountsByMethodBucketAndOutcome) {
  CallDurations durations;
  durations.Add("/muster.v1.RunService/ListRuns", absl::Milliseconds(5), "OK");
  durations.Add("/muster.v1.RunService/ListRuns", absl::Milliseconds(6), "OK");
  durations.Add("/muster.v1.RunService/ListRuns", absl::Minutes(3), "UNAVAILABLE");
  durations.Add("/muster.v1.NodeService/GetNode", -absl::Seconds(1), "OK");  // a clock that jumped
  const std::vector<CallReading> calls = durations.Read();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].method, "NodeService/GetNode");
  EXPECT_EQ(calls[0].seconds, 0);
  EXPECT_EQ(calls[1].method, "RunService/ListRuns");
  EXPECT_THAT(calls[1].durations, ElementsAre(1, 1, 0, 0, 0, 0, 0, 0, 1));
  EXPECT_DOUBLE_EQ(calls[1].seconds, 180.011);
  EXPECT_THAT(calls[1].outcomes, ElementsAre(Pair("OK", 2), Pair("UNAVAILABLE", 1)));
}

TEST(CallDurations, KnowsOnlySoManyMethods) {
  CallDurations durations;
  for (int i = 0; i < 1000; ++i) durations.Add(absl::StrCat("/x/", i), absl::Seconds(1), "OK");
  EXPECT_EQ(durations.Read().size(), 200u);
}

}  // namespace
}  // namespace muster::controller
