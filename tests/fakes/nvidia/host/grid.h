// Runs the threads of a kernel on one thread of the host: one block after the other, the threads of
// a block as coroutines if they wait for each other.
#pragma once

#include <cstddef>
#include <functional>

#include "tests/fakes/nvidia/host_kernel.h"

namespace muster::fake_nvidia {

// Blocks until every thread of every block has returned. `barriers`: the kernel has some; without
// them a thread is a plain call. The order is always the same, so results are too.
void RunGrid(const Launch& launch, bool barriers, const std::function<void()>& thread);

// The place of the running thread; only within RunGrid().
struct Place {
  unsigned thread = 0;  // in its block
  unsigned block_x = 0, block_y = 0;
  unsigned block_threads = 0, grid_blocks = 0;
};
const Place& Here();

// All threads of the block, or the 32 of the warp, arrive here before any continues.
void WaitForBlock();
void WaitForWarp();

// This thread continues when `ready` is true, which other threads of the block bring about.
void WaitUntil(const std::function<bool()>& ready);

// The shared memory that the launch asked for: `bytes` of it at `offset`. Aborts outside of it.
void* SharedBytes(size_t offset, size_t bytes);

// Memory that the threads of a warp share, for instructions that exchange registers. A thread that
// has written its part waits for the warp and then reads the others' parts. Calls alternate between
// two areas, so that nobody overwrites data that a slower thread is still reading.
void* WarpExchange(size_t bytes_per_thread);

}  // namespace muster::fake_nvidia
