// The packages that joining machines install.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller {

struct PackageFile {
  std::string name;          // "muster-agent_0.1.0_amd64.deb"
  std::string architecture;  // "amd64"
  std::string sha256;        // hex
};

// Whether it is a Debian package's file name and nothing else: no separators, no leading dot.
bool IsPackageName(absl::string_view name);

// The muster-agent packages of the folder, by name, with the digests of what is there now; other
// files are passed over, and a folder that is not there is empty. Blocks for the disk.
absl::StatusOr<std::vector<PackageFile>> ListAgentPackages(const std::string& folder);

}  // namespace muster::controller
