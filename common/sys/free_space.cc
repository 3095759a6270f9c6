#include "common/sys/free_space.h"

#include <sys/statvfs.h>

#include <cerrno>

#include "common/sys/file_error.h"

namespace muster::sys {

absl::StatusOr<uint64_t> FreeBytes(const std::string& path) {
  struct statvfs room = {};
  if (statvfs(path.c_str(), &room) != 0)
    return FileError(errno, "measuring the free space of", path);
  return uint64_t{room.f_bavail} * room.f_frsize;
}

}  // namespace muster::sys
