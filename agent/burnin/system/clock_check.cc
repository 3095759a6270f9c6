#include "agent/burnin/system/clock_check.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/burnin/tool.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

constexpr absl::Duration kClockStep = absl::Milliseconds(500);

absl::StatusOr<Tracking> AskChrony(CheckContext& context) {
  ASSIGN_OR_RETURN(const sys::ProcessResult run,
                   RunTool(context, {"chronyc", "-c", "tracking"}, absl::Seconds(20), "chrony"));
  if (!run.ok())
    return absl::UnavailableError(
        absl::StrCat("chronyd does not answer: ", absl::StripAsciiWhitespace(run.output),
                     "; is chrony running?"));
  return ParseTracking(run.out);
}

}  // namespace

CheckResult RunClockCheck(CheckContext& context) {
  const absl::Time start = context.clock.Now();
  const absl::Duration patience = absl::Seconds(context.parameters.Number("wait"));
  absl::StatusOr<Tracking> tracking = AskChrony(context);
  // After a boot chronyd polls its servers a few times before it trusts them.
  for (absl::Duration past; tracking.ok() && !tracking->synchronised &&
                            (past = context.clock.Now() - start) < patience;) {
    if (context.reporter.stopping()) break;
    context.reporter.SetPhase("waiting for a time server", absl::FDivDuration(past, patience));
    context.clock.Sleep(std::min(kClockStep, patience - past));
    tracking = AskChrony(context);
  }
  if (!tracking.ok()) return Unknown(std::string(tracking.status().message()));
  CheckResult result;
  AddMetric(result, "clock_stratum", "", "", tracking->stratum);
  AddMetric(result, "clock_offset_ms", "", "", std::abs(tracking->offset_s) * 1e3);
  AddMetric(result, "clock_error_ms", "", "", tracking->root_error_s * 1e3);
  const double allowed_s = context.parameters.Number("max-offset");
  if (!tracking->synchronised) {
    AddFault(result, "clock_unsynchronised", "",
             "the clock follows no time server: check chronyc sources");
  } else if (std::abs(tracking->offset_s) > allowed_s) {
    AddFault(result, "clock_offset", "",
             absl::StrFormat("the clock is %.3f ms off, %.3f allowed",
                             std::abs(tracking->offset_s) * 1e3, allowed_s * 1e3));
  }
  result.tools.push_back("chrony");
  return result;
}

}  // namespace muster::burnin
