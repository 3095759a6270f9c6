// The packages that joining machines install.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller {

struct PackageFile {
  std::string name;          // "muster-agent_0.1.0_amd64.deb"
  std::string version;       // "0.1.0"
  std::string architecture;  // "amd64"
  std::string sha256;        // hex
};

// Whether it is the plain file name of a Debian package: no separators, no leading dot.
bool IsPackageName(absl::string_view name);

// The muster-agent packages in the folder, by name, with the digests of their present content;
// ignores other files, and treats a missing folder as empty. Blocks for the disk.
absl::StatusOr<std::vector<PackageFile>> ListAgentPackages(const std::string& folder);

}  // namespace muster::controller
