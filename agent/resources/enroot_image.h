// An image that enroot keeps as one squashfs file.
#pragma once

#include <memory>
#include <string>

#include "agent/resources/resource.h"
#include "agent/resources/types.h"

namespace muster::v1 {
class ContainerImageResource;
}

namespace muster::agent {

// REQUIRES: the image is pinned and the path is checked.
std::unique_ptr<Resource> NewEnrootImage(const v1::ContainerImageResource& spec,
                                         std::string step_id, ResourceContext& context);

}  // namespace muster::agent
