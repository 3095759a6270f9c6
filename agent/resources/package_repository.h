// A source of packages: a deb822 file and the key that signs it.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "agent/resources/types.h"

namespace muster::agent {

// Of a step whose resource is set to this type. Errors and parameters as in MakeResource().
absl::StatusOr<std::unique_ptr<Resource>> MakePackageRepository(const v1::Step& step,
                                                                ResourceContext& context,
                                                                bool want_diff);

}  // namespace muster::agent
