// How the disk of a node is divided by an image of the kind `disk`. Pure.
#pragma once

#include "absl/status/status.h"

namespace muster::v1 {
class DiskLayout;
}

namespace muster {

// The labels of the partitions that every such disk has; those of the site are
// kPartitionPrefix and their name.
inline constexpr char kPartitionPrefix[] = "muster-";
inline constexpr char kEspPartition[] = "muster-esp";
inline constexpr char kRootAPartition[] = "muster-root_a";
inline constexpr char kRootBPartition[] = "muster-root_b";
inline constexpr char kStatePartition[] = "muster-state";

// Where the root of such an image says what it is: a serialized v1.ImageManifest without packages
// and artifacts.
inline constexpr char kImageInRoot[] = "/usr/lib/muster/image";

// OK for a layout that can be carried out. InvalidArgument names the field and what is wrong.
absl::Status CheckDiskLayout(const v1::DiskLayout& layout);

}  // namespace muster
