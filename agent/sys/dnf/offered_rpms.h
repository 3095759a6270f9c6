// What the node's repositories offer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/sys/dnf/rpm_database.h"

namespace muster::sys {
class FileSystem;
class ProcessRunner;
}  // namespace muster::sys

namespace muster::agent {

// By the lists that dnf has fetched. Thread-safe.
class OfferedRpms {
 public:
  // The references must outlive the object. `machine`: uname -m; "": packages for any.
  OfferedRpms(sys::FileSystem& files, sys::ProcessRunner& processes, std::string machine);

  // The packages of each name, the one that dnf would install first.
  absl::StatusOr<std::map<std::string, std::vector<RpmPackage>>> Find(
      const std::vector<std::string>& names) const;

 private:
  std::map<std::string, int> Priorities() const;  // by repository

  sys::FileSystem& files_;
  sys::ProcessRunner& processes_;
  const std::string machine_;
};

}  // namespace muster::agent
