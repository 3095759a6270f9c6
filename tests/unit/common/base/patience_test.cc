#include "common/base/patience.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Patience, EachMissingAnswerDoublesTheTimeForTheNext) {
  Patience patience(absl::Seconds(15), absl::Minutes(1));
  EXPECT_EQ(patience.span(), absl::Seconds(15));
  patience.OnNoAnswer();
  EXPECT_EQ(patience.span(), absl::Seconds(30));
  for (int i = 0; i < 100; ++i) patience.OnNoAnswer();
  EXPECT_EQ(patience.span(), absl::Minutes(1));
  patience.OnAnswer();
  EXPECT_EQ(patience.span(), absl::Seconds(15));
}

}  // namespace
}  // namespace muster
