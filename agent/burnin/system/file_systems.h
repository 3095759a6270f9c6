// The check `file-systems`: everything that should be mounted is mounted, writable and has room.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

struct MountedAt {
  std::string path;
  std::string type;  // "ext4", "nfs4"
  bool read_only = false;
};
// Parses /proc/self/mounts, proc(5). Lines that are not mounts are skipped.
std::vector<MountedAt> ParseMounts(absl::string_view mounts);

CheckResult RunFileSystemsCheck(CheckContext& context);

}  // namespace muster::burnin
