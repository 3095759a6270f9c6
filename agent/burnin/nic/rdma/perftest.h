// Parses the output of ib_write_bw and ib_write_lat from the package perftest.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::burnin {

// Gbit/s, the mean over the test, whichever unit was asked for. InvalidArgument: the output
// contains no such table.
absl::StatusOr<double> ParseWriteBandwidth(absl::string_view output);

struct WriteLatency {
  double typical_us = 0;  // the median
  double p99_us = 0;
  double p999_us = 0;
};
absl::StatusOr<WriteLatency> ParseWriteLatency(absl::string_view output);

}  // namespace muster::burnin
