// The tensor cores' instruction, mma.sync of the PTX ISA, in its shapes. All 32 lanes of a warp
// call together; each supplies and receives its share ("fragment") of the matrices.
//
// The shapes of sm_75 and later share one layout when it is described in bytes. With g = lane / 4
// and t = lane % 4, a lane has these parts of a 16-row A and an 8-column B of 32 bytes of depth:
//   a[0]: row g,     bytes 4t…4t+3     a[2]: row g,     bytes 16+4t…
//   a[1]: row g + 8, bytes 4t…         a[3]: row g + 8, bytes 16+4t…
//   b[0]: column g,  bytes 4t…         b[1]: column g,  bytes 16+4t…
//   c[0], c[1]: row g, columns 2t, 2t+1    c[2], c[3]: row g + 8, the same columns
#pragma once

#include "agent/burnin/gpu/kernels/device.h"

#ifdef __CUDA__
namespace muster::kernels {

#define MUSTER_MMA_16X8(name, instruction, Sum, constraint)                           \
  MUSTER_DEVICE void name(Sum(&c)[4], const uint32_t(&a)[4], const uint32_t(&b)[2]) { \
    asm volatile(instruction " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                 : "+" constraint(c[0]), "+" constraint(c[1]), "+" constraint(c[2]),  \
                   "+" constraint(c[3])                                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }

// sm_80
MUSTER_MMA_16X8(MmaF16K16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", float, "f")
MUSTER_MMA_16X8(MmaBf16K16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", float, "f")
MUSTER_MMA_16X8(MmaTf32K8, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", float, "f")
MUSTER_MMA_16X8(MmaS8K32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", int32_t, "r")
// sm_89
MUSTER_MMA_16X8(MmaE4m3K32, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", float, "f")

#undef MUSTER_MMA_16X8

// sm_75: half the depth, 16 bytes.
MUSTER_DEVICE void MmaF16K8(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b0) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(b0));
}

// sm_75: half the depth and half the rows.
MUSTER_DEVICE void MmaS8K16(int32_t& c0, int32_t& c1, uint32_t a0, uint32_t b0) {
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+r"(c0), "+r"(c1)
               : "r"(a0), "r"(b0));
}

// sm_70: four products of 8 × 8 × 4 at once, one for each "quad pair" of lanes {0–3, 16–19}, {4–7,
// 20–23} and so on. A lane has four elements of depth of row (of A) and column (of B) lane % 4, + 4
// for lanes from 16 on; and c[i] of row (lane & 1) + (i & 2), + 4 likewise, column (i & 4) + (lane
// & 2) + (i & 1).
MUSTER_DEVICE void MmaF16K4(float (&c)[8], const uint32_t (&a)[2], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
        "+f"(c[7])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
}

}  // namespace muster::kernels
#endif
