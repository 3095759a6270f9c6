// Paths that people write, seen from their current folder.
#pragma once

#include <string>

namespace muster::cli {

// The path from the root, without a slash at its end; as it is if there is no current folder.
std::string AbsolutePath(const std::string& path);

}  // namespace muster::cli
