// Runs the threads of a kernel on one thread of the host: one block after the other, the threads of
// a block as coroutines where they wait for each other.
#pragma once

#include <cstddef>
#include <functional>

#include "tests/fakes/nvidia/host_kernel.h"

namespace muster::fake_nvidia {

// Blocks until every thread of every block has returned. `barriers`: the kernel has some; without
// them a thread is a plain call. The order is always the same, so results are too.
void RunGrid(const Launch& launch, bool barriers, const std::function<void()>& thread);

// Of the thread that is running; only within RunGrid().
struct Place {
  unsigned thread = 0;  // in its block
  unsigned block_x = 0, block_y = 0;
  unsigned block_threads = 0, grid_blocks = 0;
};
const Place& Here();

// All threads of the block, or the 32 of the warp, come here before one goes on.
void WaitForBlock();
void WaitForWarp();

// Memory that the threads of a warp share, for instructions that exchange registers. A thread that
// has written its part waits for the warp and then reads the others'. Calls alternate between two
// areas, so that nobody overwrites what a slower thread still reads.
void* WarpExchange(size_t bytes_per_thread);

}  // namespace muster::fake_nvidia
