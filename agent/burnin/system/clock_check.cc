#include "agent/burnin/system/clock_check.h"

#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "agent/burnin/system/tool.h"

namespace muster::burnin {
namespace {

// Fields of `chronyc -c tracking`, in the order of `chronyc tracking`.
enum Field { kStratum = 2, kOffset = 4, kRootDelay = 10, kRootDispersion = 11, kLeap = 13 };
constexpr size_t kFields = 14;

}  // namespace

absl::StatusOr<Tracking> ParseTracking(absl::string_view csv) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::StripAsciiWhitespace(csv), ',');
  Tracking tracking;
  double delay = 0, dispersion = 0;
  if (fields.size() < kFields || !absl::SimpleAtoi(fields[kStratum], &tracking.stratum) ||
      !absl::SimpleAtod(fields[kOffset], &tracking.offset_s) ||
      !absl::SimpleAtod(fields[kRootDelay], &delay) ||
      !absl::SimpleAtod(fields[kRootDispersion], &dispersion))
    return absl::InvalidArgumentError(absl::StrCat("chronyc says something else: ", csv));
  tracking.root_error_s = dispersion + delay / 2;
  tracking.synchronised = fields[kLeap] != "Not synchronised" && tracking.stratum > 0;
  return tracking;
}

CheckResult RunClockCheck(CheckContext& context) {
  const auto run = RunTool(context, {"chronyc", "-c", "tracking"}, absl::Seconds(20), "chrony");
  if (!run.ok()) return Unknown(std::string(run.status().message()));
  if (!run->ok())
    return Unknown(absl::StrCat("chronyd does not answer: ",
                                absl::StripAsciiWhitespace(run->output), "; is chrony running?"));
  const absl::StatusOr<Tracking> tracking = ParseTracking(run->out);
  if (!tracking.ok()) return Unknown(std::string(tracking.status().message()));
  CheckResult result;
  AddMetric(result, "clock_stratum", "", "", tracking->stratum);
  AddMetric(result, "clock_offset_ms", "", "", std::abs(tracking->offset_s) * 1e3);
  AddMetric(result, "clock_error_ms", "", "", tracking->root_error_s * 1e3);
  const double allowed_s = context.parameters.Number("max-offset");
  if (!tracking->synchronised) {
    AddFault(result, "clock_unsynchronised", "",
             "the clock follows no time server: look at chronyc sources");
  } else if (std::abs(tracking->offset_s) > allowed_s) {
    AddFault(result, "clock_offset", "",
             absl::StrFormat("the clock is %.3f ms off, %.3f allowed",
                             std::abs(tracking->offset_s) * 1e3, allowed_s * 1e3));
  }
  result.tools.push_back("chrony");
  return result;
}

}  // namespace muster::burnin
