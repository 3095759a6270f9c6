// Checks of requests before anything is done. Pure. Errors: InvalidArgument.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class CreateTokenRequest;
class RemoveNodeRequest;
}  // namespace muster::v1

namespace muster::controller {

// Expands a host list of at least one name.
absl::StatusOr<std::vector<std::string>> NodeNames(absl::string_view hostlist);

// The token's lifetime; the default where none was given.
absl::StatusOr<absl::Duration> TokenTtl(const v1::CreateTokenRequest& request);

absl::Status Validate(const v1::RemoveNodeRequest& request);

}  // namespace muster::controller
