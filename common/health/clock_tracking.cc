#include "common/health/clock_tracking.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::health {
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
    return absl::InvalidArgumentError(absl::StrCat("chronyc printed something unexpected: ", csv));
  tracking.root_error_s = dispersion + delay / 2;
  tracking.synchronised = fields[kLeap] != "Not synchronised" && tracking.stratum > 0;
  return tracking;
}

}  // namespace muster::health
