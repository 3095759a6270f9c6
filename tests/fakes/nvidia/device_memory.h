// Memory of the fake GPUs: pages of the host whose addresses are all known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include "tests/fakes/nvidia/world.h"

namespace muster::fake_nvidia {

// Thread-safe.
class DeviceMemory {
 public:
  static DeviceMemory& Instance();

  // 0 when the GPU does not have that much left.
  uint64_t Allocate(int gpu, const Gpu& spec, size_t bytes);
  bool Free(uint64_t address);
  // Whether all of it lies in one allocation.
  bool Covers(uint64_t address, size_t bytes) const;
  uint64_t UsedBytes(int gpu) const;

  // Flips the bits that are due now. `launches`: kernels of the GPU so far, including this one; 0:
  // no kernel has run.
  void FlipWhatIsDue(int gpu, const Flips& flips, double since_first_context_s, uint64_t launches);

 private:
  struct Block {
    int gpu;
    size_t bytes;
    uint64_t order;  // of allocation
  };
  void FlipBits(int gpu, const Flips& flips);

  mutable std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;  // by address
  std::map<int, uint64_t> used_;
  std::map<int, unsigned> memory_flips_;  // number of past flips
  uint64_t allocations_ = 0;
  std::mt19937_64 random_{20};
};

}  // namespace muster::fake_nvidia
