#include "common/base/text/disk_image.h"

#include <map>

#include "absl/strings/match.h"
#include "common/base/text/kernel_arguments.h"

namespace muster {

std::string DiskImageOf(absl::string_view kernel_arguments) {
  const std::map<std::string, std::string> arguments = ParseKernelArguments(kernel_arguments);
  const auto image = arguments.find("muster.image");
  // An image that boots in memory has no slot.
  return image == arguments.end() || arguments.count("muster.slot") == 0 ? "" : image->second;
}

bool IsSameBuild(absl::string_view a, absl::string_view b) {
  return !a.empty() && !b.empty() && (absl::StartsWith(a, b) || absl::StartsWith(b, a));
}

}  // namespace muster
