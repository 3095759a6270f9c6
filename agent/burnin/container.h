// Whether the worker runs in a container, which shares its host's hardware, memory and kernel log
// with others.
#pragma once

#include "common/sys/file_system.h"

namespace muster::burnin {

// By the file that systemd's PID 1 writes in a container.
inline bool InContainer(sys::FileSystem& files) {
  return files.Read("/run/systemd/container").ok();
}

}  // namespace muster::burnin
