// How musterd deals with the memory of thousands of sessions.
#pragma once

namespace muster::controller {

// Makes the allocator spread over few heaps; before any thread is started.
void KeepMemoryTogether();

// Gives back what is free in the heaps. Milliseconds to tenths of seconds, during which others who
// allocate wait: after what needed much memory, such as compiling a large play.
void ReturnMemory();

}  // namespace muster::controller
