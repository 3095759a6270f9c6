// Copies from global to shared memory that run while the warp multiplies (sm_80 and later).
#pragma once

#include "agent/burnin/gpu/kernels/device.h"

#ifdef __CUDA__
namespace muster::kernels {

// Copies 16 bytes; both addresses are multiples of 16.
MUSTER_DEVICE void StartCopy(void* shared, const void* global) {
  // PTX wants an address inside the window of shared memory, not a generic one.
  const auto to = static_cast<uint32_t>(
      reinterpret_cast<uint64_t>((__attribute__((address_space(3))) void*)shared));
  const auto from = reinterpret_cast<uint64_t>((__attribute__((address_space(1))) void*)global);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Waits for the copies that this thread started.
MUSTER_DEVICE void FinishCopies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

}  // namespace muster::kernels
#endif
