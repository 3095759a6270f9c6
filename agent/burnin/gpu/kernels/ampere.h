// Copies into shared memory on Ampere and later.
#pragma once

#include "agent/burnin/gpu/kernels/async_copy.h"
#include "agent/burnin/gpu/kernels/gemm_mma.h"

namespace muster::kernels {

struct Ampere {
  static constexpr int kBuffers = 2;
  static MUSTER_DEVICE void Copy(void* to, const void* from) { StartCopy(to, from); }
  static MUSTER_DEVICE void FinishCopies() { kernels::FinishCopies(); }
};

}  // namespace muster::kernels
