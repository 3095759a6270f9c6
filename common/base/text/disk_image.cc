#include "common/base/text/disk_image.h"

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster {

std::string DiskImageOf(absl::string_view kernel_arguments) {
  bool from_disk = false;
  absl::string_view image;
  for (absl::string_view word :
       absl::StrSplit(kernel_arguments, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    // An image that boots in memory has no slot.
    from_disk |= absl::StartsWith(word, "muster.slot=");
    if (absl::ConsumePrefix(&word, "muster.image=")) image = word;
  }
  return from_disk ? std::string(image) : "";
}

bool IsSameBuild(absl::string_view a, absl::string_view b) {
  return !a.empty() && !b.empty() && (absl::StartsWith(a, b) || absl::StartsWith(b, a));
}

}  // namespace muster
