#include "common/base/text/human_duration.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(HumanDuration, HasTwoUnitsAtMost) {
  EXPECT_EQ(HumanDuration(absl::ZeroDuration()), "0s");
  EXPECT_EQ(HumanDuration(absl::Seconds(12)), "12s");
  EXPECT_EQ(HumanDuration(absl::Seconds(185)), "3m 05s");
  EXPECT_EQ(HumanDuration(absl::Minutes(123)), "2h 03m");
  EXPECT_EQ(HumanDuration(absl::Hours(100)), "4d 04h");
}

}  // namespace
}  // namespace muster
