// The check `file-systems`: that what should be mounted is there, writable and has room.
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
// Of /proc/self/mounts, proc(5). Lines that are no mounts are passed over.
std::vector<MountedAt> ParseMounts(absl::string_view mounts);

CheckResult RunFileSystemsCheck(CheckContext& context);

}  // namespace muster::burnin
