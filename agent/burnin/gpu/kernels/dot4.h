// Pascal's instruction for INT8: four products of bytes, added to a 32-bit sum.
#pragma once

#include "agent/burnin/gpu/kernels/device.h"

#ifdef __CUDA__
namespace muster::kernels {

MUSTER_DEVICE int32_t Dot4(uint32_t a, uint32_t b, int32_t sum) {
  int32_t out;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(sum));
  return out;
}

}  // namespace muster::kernels
#endif
