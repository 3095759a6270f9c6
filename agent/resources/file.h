// A regular file: content, owner, mode.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "agent/resources/types.h"

namespace muster::agent {

// Of a step whose resource is set to this type. Errors and parameters as in MakeResource().
absl::StatusOr<std::unique_ptr<Resource>> MakeFile(const v1::Step& step, ResourceContext& context,
                                                   bool want_diff);

}  // namespace muster::agent
