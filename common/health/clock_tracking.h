// What chrony says about the clock.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::health {

struct Tracking {
  int stratum = 0;
  double offset_s = 0;      // of the clock from true time, positive when it is slow
  double root_error_s = 0;  // root dispersion and half the root delay: bounds offset_s' error
  bool synchronised = false;
};
// Parses `chronyc -c tracking`, chronyc(1).
absl::StatusOr<Tracking> ParseTracking(absl::string_view csv);

}  // namespace muster::health
