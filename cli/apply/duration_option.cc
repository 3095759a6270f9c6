#include "cli/apply/duration_option.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace muster::cli {

absl::StatusOr<absl::Duration> ParseDurationOption(absl::string_view option, absl::string_view text,
                                                   absl::Duration least,
                                                   absl::string_view examples) {
  absl::string_view number = text;
  uint32_t days = 0;
  absl::Duration duration;
  bool is_duration = true;
  if (absl::ConsumeSuffix(&number, "d") && absl::SimpleAtoi(number, &days)) {
    duration = absl::Hours(24) * days;
  } else {
    is_duration = absl::ParseDuration(text, &duration);
  }
  if (is_duration && duration >= least && duration < absl::InfiniteDuration()) return duration;
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", text, ": expected a duration such as ", examples));
}

}  // namespace muster::cli
