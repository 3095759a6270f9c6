// dpkg's own record of installed packages: /var/lib/dpkg/status.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::agent {

// A parsed status file. Immutable, so readable from many threads.
class DpkgStatus {
 public:
  DpkgStatus() = default;
  // Never fails: anything that is not a dpkg stanza is skipped, since dpkg wrote the file itself.
  static DpkgStatus Parse(absl::string_view text);

  // The version of the installed package `name` ("munge", "libc6:amd64"); "" when it is not
  // installed.
  std::string InstalledVersion(const std::string& name) const;
  // Whether `name` is on hold: upgrades skip it.
  bool IsHeld(const std::string& name) const { return held_.count(name) > 0; }
  // Whether `name` was removed but left its configuration files.
  bool HasConfigurationOnly(const std::string& name) const {
    return configuration_only_.count(name) > 0;
  }
  // Whether an installed package provides the virtual package `name` ("mail-transport-agent").
  bool IsProvided(const std::string& name) const { return provided_.count(name) > 0; }
  // Packages that are neither installed nor removed as a whole: a transaction was interrupted.
  const std::vector<std::string>& half_done() const { return half_done_; }

 private:
  std::map<std::string, std::string> versions_;      // "name" and "name:arch" → version
  std::set<std::string> held_, configuration_only_;  // keys as in versions_
  std::set<std::string> provided_;
  std::vector<std::string> half_done_;
};

}  // namespace muster::agent
