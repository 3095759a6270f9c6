// The roles of playbooks that may read a secret. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/playbook/compiler.h"

namespace muster::controller {

// Every role.
inline constexpr char kAnyRole[] = "*";

// The form in which a secret stores them: sorted, separated by commas. InvalidArgument: a name that
// no role can have, or kAnyRole together with others.
absl::StatusOr<std::string> JoinRoles(const std::vector<std::string>& roles);

// PermissionDenied, with the remedy, unless `roles` (as from JoinRoles) has the reader's.
absl::Status CheckReader(absl::string_view secret, absl::string_view roles,
                         const SecretReader& reader);

}  // namespace muster::controller
