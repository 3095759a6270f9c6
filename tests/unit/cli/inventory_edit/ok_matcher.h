// A matcher for the value of a StatusOr.
#pragma once

#include <gmock/gmock.h>

namespace muster::testing {

MATCHER_P(IsOkAndHolds, want, "") {
  if (!arg.ok()) *result_listener << arg.status().ToString();
  return arg.ok() && ::testing::Matches(want)(*arg);
}

}  // namespace muster::testing
