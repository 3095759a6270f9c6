// Memory management for thousands of sessions.
#pragma once

namespace muster::controller {

// Makes the allocator use few heaps; call before any thread is started.
void KeepMemoryTogether();

// Returns free memory of the heaps to the system. Takes milliseconds to tenths of seconds, during
// which other threads that allocate wait: for use after work that needed much memory, such as
// compiling a large play.
void ReturnMemory();

}  // namespace muster::controller
