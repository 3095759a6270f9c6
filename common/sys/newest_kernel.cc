#include "common/sys/newest_kernel.h"

#include <string.h>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"

namespace muster::sys {

absl::StatusOr<std::string> NewestKernel(
    const std::vector<std::string>& boot,
    absl::FunctionRef<absl::StatusOr<bool>(const std::string& release)> has_modules) {
  std::string newest;
  for (absl::string_view name : boot) {
    if (!absl::ConsumePrefix(&name, "vmlinuz-")) continue;
    const std::string release(name);
    ASSIGN_OR_RETURN(const bool is_complete, has_modules(release));
    if (!is_complete) continue;
    if (newest.empty() || ::strverscmp(release.c_str(), newest.c_str()) > 0) newest = release;
  }
  return newest;
}

}  // namespace muster::sys
