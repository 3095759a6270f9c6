// The kernel that a machine boots next, as far as its files tell.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace muster::sys {

// The newest release that has an image among `boot`, the names in /boot, and modules: a kernel that
// the package manager has unpacked but not configured yet has none. "": there is no such kernel.
// Fails only where `has_modules`, which gets a release ("6.1.0-18-amd64"), does.
absl::StatusOr<std::string> NewestKernel(
    const std::vector<std::string>& boot,
    absl::FunctionRef<absl::StatusOr<bool>(const std::string& release)> has_modules);

}  // namespace muster::sys
