#include "common/base/backoff.h"

#include <algorithm>
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

TEST(Backoff, SpreadsTheFirstAttemptAfterASuccessAsFarAsItIsTold) {
  std::mt19937_64 random(1);
  absl::Duration first = absl::ZeroDuration();
  absl::Duration later = absl::ZeroDuration();
  for (int i = 0; i < 200; ++i) {
    Backoff backoff(absl::Seconds(1), absl::Seconds(8), random);
    backoff.Reset(absl::Seconds(40));
    first = std::max(first, backoff.Next());
    later = std::max(later, backoff.Next());
  }
  EXPECT_GT(first, absl::Seconds(35));
  EXPECT_LE(first, absl::Seconds(40));
  EXPECT_GT(later, absl::Seconds(35));  // the cap is raised, but grows no further
  EXPECT_LE(later, absl::Seconds(40));
}

}  // namespace
}  // namespace muster
