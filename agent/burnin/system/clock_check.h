// The check `clock`: how far this machine's clock is off, as chrony sees it.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

struct Tracking {
  int stratum = 0;
  double offset_s = 0;      // of the clock from true time, positive when it is slow
  double root_error_s = 0;  // root dispersion and half the root delay: bounds offset_s' error
  bool synchronised = false;
};
// Parses `chronyc -c tracking`, chronyc(1).
absl::StatusOr<Tracking> ParseTracking(absl::string_view csv);

CheckResult RunClockCheck(CheckContext& context);

}  // namespace muster::burnin
