// What is mounted, as /proc/PID/mountinfo tells it; see proc(5). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster {

struct MountInfo {
  uint64_t number = 0;  // statx() calls it the mount's id
  std::string device;   // "0:50": the same for all mounts of one file system
  std::string folder;   // of the file system: "/", or what a bind mount shows of it
  std::string path;     // where it is mounted
  std::string options;  // of the mount: "rw,noatime"
  std::string type;     // "nfs4"
  std::string source;   // "/dev/sda1", "server:/home"
  std::string file_system_options;
};

// In the kernel's order: what is mounted later at the same path hides what was there. Lines that
// are no mounts are left out.
std::vector<MountInfo> MountsOf(absl::string_view mountinfo);

// Whether a file system of this type, by the kernel's name for it, is on a server: which may not
// answer, and gives the same files to other machines.
bool IsRemoteFileSystem(absl::string_view type);

}  // namespace muster
