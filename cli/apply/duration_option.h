// Options whose value is a length of time.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::cli {

// "30m", "1h30m", and "30d", which absl does not know. InvalidArgument names the option and
// `examples` ("30m or 1h"): the text is not a duration, or the time is shorter than `least` or
// infinite.
absl::StatusOr<absl::Duration> ParseDurationOption(absl::string_view option, absl::string_view text,
                                                   absl::Duration least,
                                                   absl::string_view examples);

}  // namespace muster::cli
