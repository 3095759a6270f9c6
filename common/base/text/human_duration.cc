#include "common/base/text/human_duration.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster {

std::string HumanDuration(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 60) return absl::StrCat(seconds, "s");
  if (seconds < 3600) return absl::StrFormat("%dm %02ds", seconds / 60, seconds % 60);
  if (seconds < 86400) return absl::StrFormat("%dh %02dm", seconds / 3600, seconds / 60 % 60);
  return absl::StrFormat("%dd %02dh", seconds / 86400, seconds / 3600 % 24);
}

}  // namespace muster
