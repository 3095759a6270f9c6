// A regular file: content, owner, mode.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "agent/resources/types.h"

namespace muster::v1 {
class FileResource;
}

namespace muster::agent {

// Of a step whose resource is set to this type. Errors and parameters as in MakeResource().
absl::StatusOr<std::unique_ptr<Resource>> MakeFile(const v1::Step& step, ResourceContext& context,
                                                   bool want_diff);

// A file of a set, which makes the directory itself.
absl::StatusOr<std::unique_ptr<Resource>> MakeFileOfSet(const v1::FileResource& spec,
                                                        ResourceContext& context, bool want_diff);

}  // namespace muster::agent
