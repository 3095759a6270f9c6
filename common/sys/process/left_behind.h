// Programs that an earlier life of this process has left running, and their end.
#pragma once

#include <cstdint>

namespace muster::sys {

class FileSystem;

// When the process started, in the kernel's ticks since boot; 0: there is no such process. Together
// with its id it identifies a process permanently.
uint64_t StartTicksOf(int pid, FileSystem& files);

// Kills the process with its whole group, if it is still the one that started then. True: there was
// one.
bool KillLeftBehind(int pid, uint64_t start_ticks, FileSystem& files);

}  // namespace muster::sys
