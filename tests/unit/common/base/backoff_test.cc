#include "common/base/backoff.h"

#include <random>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Backoff, DoublesItsCeilingUpToTheCapAndStartsAgain) {
  std::mt19937_64 random(1);
  Backoff backoff(absl::Seconds(1), absl::Seconds(8), random);
  absl::Duration longest = absl::ZeroDuration();
  EXPECT_LE(backoff.Next(), absl::Seconds(1));
  EXPECT_LE(backoff.Next(), absl::Seconds(2));
  for (int i = 0; i < 200; ++i) longest = std::max(longest, backoff.Next());
  EXPECT_LE(longest, absl::Seconds(8));
  EXPECT_GT(longest, absl::Seconds(7));  // full jitter reaches the ceiling ...
  backoff.Reset();
  EXPECT_LE(backoff.Next(), absl::Seconds(1));
}

}  // namespace
}  // namespace muster
