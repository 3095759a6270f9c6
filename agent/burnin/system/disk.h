// The check `disk`: fio's measurements on named file systems.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// One direction of one job of fio's JSON output.
struct FioRates {
  double bytes_per_s = 0, iops = 0, latency_p99_s = 0;
};
// `direction` is "read" or "write". InvalidArgument: not such an output, or the job had an error.
// DataLoss: an input/output error.
absl::StatusOr<FioRates> ParseFio(absl::string_view json, const char* direction);

CheckResult RunDiskCheck(CheckContext& context);

}  // namespace muster::burnin
