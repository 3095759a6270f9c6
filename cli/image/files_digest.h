// The files that an image's definition has beside it.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace muster::cli {

// SHA-256 over names, types, permissions, contents and targets of links of everything in `folder`.
// NotFound: there is no such folder. InvalidArgument: it has something that is neither a file, a
// folder nor a link.
absl::StatusOr<std::string> FilesDigest(const std::string& folder);

}  // namespace muster::cli
