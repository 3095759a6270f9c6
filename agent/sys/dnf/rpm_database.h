// The packages that rpm's database holds, as `rpm --query` prints them.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::agent {

struct RpmPackage {
  std::string name;
  std::string version;  // "535.104-1.el9", with its epoch unless that is 0: "3:535.104-1.el9"
  std::string arch;
  std::string transaction;  // the one that installed it; empty for packages in repositories
  std::string repository;   // empty for installed packages

  // "tool-3:1.0-1.el9.noarch", as dnf names it.
  std::string Nevra() const;
  // What dnf finds it by: "tool", and for this version alone "tool-1.0-1.el9" and
  // "tool-3:1.0-1.el9".
  std::set<std::string> Names() const;
  bool operator==(const RpmPackage&) const = default;
};

// "glibc.i686" → {"glibc", "i686"}; the architecture is empty if the name has none.
std::pair<std::string, std::string> SplitArchitecture(absl::string_view name);

// Immutable, so readable from many threads.
class RpmDatabase {
 public:
  // The `--queryformat` whose lines Parse() reads.
  static const char kFormat[];

  RpmDatabase() = default;
  // Lines of another form are skipped: they are warnings.
  static RpmDatabase Parse(absl::string_view output);

  // The installed packages of this name ("tool", "tool-1.0-1.el9", both also with ".noarch"),
  // newest first. Several for architectures side by side, kernels, and upgrades that were
  // interrupted.
  std::vector<RpmPackage> Find(const std::string& name) const;
  // Every installed package.
  std::vector<RpmPackage> All() const;
  // nullptr: not installed.
  const RpmPackage* FindNevra(const std::string& nevra) const;
  // Whether a package is installed in two versions. It need not be a fault: kernels are.
  bool has_several_versions() const { return has_several_versions_; }

 private:
  std::vector<RpmPackage> packages_;
  // Their places there.
  std::multimap<std::string, size_t> by_name_;  // each of Names(), and with ".arch"
  std::map<std::string, size_t> by_nevra_;
  bool has_several_versions_ = false;
};

}  // namespace muster::agent
