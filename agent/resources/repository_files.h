// The files that make up a package repository, in the forms of apt and of dnf. Pure.
#pragma once

#include <array>
#include <string>

#include "absl/status/status.h"

namespace muster::v1 {
class PackageRepositoryResource;
}

namespace muster::agent {

struct RepositoryFile {
  const char* field;    // "source"
  std::string path;     // empty: this family has no such file
  std::string content;  // empty: no such file
};
// The source, what restricts it, and the key that verifies it.
using RepositoryFiles = std::array<RepositoryFile, 3>;

// The deb822 form of sources.list(5), apt_preferences(5), and a keyring.
RepositoryFiles AptRepositoryFiles(const v1::PackageRepositoryResource& spec);
// A .repo file with the pins in it, and a key that rpm can import.
RepositoryFiles DnfRepositoryFiles(const v1::PackageRepositoryResource& spec);

// InvalidArgument names the field that this family cannot express.
absl::Status CheckAptRepository(const v1::PackageRepositoryResource& spec);
absl::Status CheckDnfRepository(const v1::PackageRepositoryResource& spec);

}  // namespace muster::agent
