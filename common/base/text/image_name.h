// Names of container images.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster {

// OK for "registry/name@sha256:<64 hex digits>": it means the same bytes everywhere and for ever.
absl::Status CheckPinnedImage(absl::string_view image);
// OK for "registry/name:tag".
absl::Status CheckTaggedImage(absl::string_view image);

// The registry of a name that one of the above accepts: "registry.example:5000".
absl::string_view RegistryOf(absl::string_view image);

}  // namespace muster
