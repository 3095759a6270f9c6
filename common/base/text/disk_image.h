// What the kernel of a node says of the image that it runs from its disk.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// The build that a kernel with these arguments runs from the disk:
// "debian-worker-disk@1a2b3c4d5e6f", as the installer of images has written it there. "": it does
// not run from one.
std::string DiskImageOf(absl::string_view kernel_arguments);

// Whether both name the same build. Each is a name, '@' and the first digits of the digest, of
// which either may have more.
bool IsSameBuild(absl::string_view a, absl::string_view b);

}  // namespace muster
