// What is mounted on the node, as health looks at it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/health/finding.h"
#include "common/health/limits.h"

namespace muster::agent::health {

struct Mounted {
  std::string path, type, source;
  std::string device;              // "0:50": the same for all mounts of one file system
  bool is_read_only = false;       // as it was mounted
  bool is_disk_read_only = false;  // the file system underneath, or it takes no more writes
};

// All that is in /proc/self/mountinfo. Pure.
std::vector<Mounted> ParseMountInfo(absl::string_view mountinfo);
// Reads that of the node whose files are below `root`.
absl::StatusOr<std::vector<Mounted>> ReadMounted(const std::string& root);

// On a disk, or in memory, of this node and meant to be written to.
bool IsLocal(const Mounted& mounted);
// On a server that may not answer.
bool IsRemote(const Mounted& mounted);

// The room on a file system, as statvfs() tells it.
struct Room {
  double blocks = 0, free_blocks = 0, blocks_for_users = 0;
  double inodes = 0, free_inodes = 0;
};
void JudgeRoom(const std::string& path, const Room& room, const muster::health::Limits& limits,
               Findings& findings);

}  // namespace muster::agent::health
