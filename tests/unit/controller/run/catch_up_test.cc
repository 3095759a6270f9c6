#include "controller/run/catch_up_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CatchUpBatches, GathersNodesOfOneRunForAWhile) {
  const absl::Time start = absl::FromUnixSeconds(1);
  CatchUpBatches catch_up;
  catch_up.Add("r-1", "c002", start);
  catch_up.Add("r-1", "c001", start + absl::Seconds(4));
  catch_up.Add("r-2", "c009", start + absl::Seconds(4));
  EXPECT_THAT(catch_up.TakeDue(start + absl::Seconds(4)), IsEmpty());
  const auto first = catch_up.TakeDue(start + absl::Seconds(5));
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].run_id, "r-1");
  EXPECT_THAT(first[0].nodes, ElementsAre("c001", "c002"));
  EXPECT_EQ(catch_up.TakeDue(start + absl::Seconds(9)).size(), 1u);
  EXPECT_THAT(catch_up.TakeDue(start + absl::Hours(1)), IsEmpty());
}

TEST(CatchUpBatches, ANodeThatIsBusyKeepsNobodyWaiting) {
  const absl::Time start = absl::FromUnixSeconds(1);
  CatchUpBatches catch_up;
  catch_up.Add("r-1", "c001", start, kCatchUpBusyDelay);
  EXPECT_THAT(catch_up.TakeDue(start + kCatchUpDelay), IsEmpty());
  catch_up.Add("r-1", "c002", start + absl::Seconds(10));
  catch_up.Add("r-1", "c001", start + absl::Seconds(11), kCatchUpBusyDelay);
  const auto first = catch_up.TakeDue(start + absl::Seconds(15));
  ASSERT_EQ(first.size(), 1u);
  EXPECT_THAT(first[0].nodes, ElementsAre("c001", "c002"));
}

TEST(CatchUpBatches, AClockThatIsSetBackMakesNobodyWaitLonger) {
  const absl::Time start = absl::FromUnixSeconds(1'700'000'000);
  CatchUpBatches catch_up;
  catch_up.Add("r-1", "c001", start);
  catch_up.Add("r-2", "c002", start, kCatchUpBusyDelay);
  EXPECT_THAT(catch_up.TakeDue(start - absl::Hours(1)), ::testing::SizeIs(2));
}

}  // namespace
}  // namespace muster::controller
