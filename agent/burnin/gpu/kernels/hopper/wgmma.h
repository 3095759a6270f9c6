// The warpgroup's instruction for products, wgmma of the PTX ISA, 64 × 256 by 32 bytes of depth.
//
// Four warps call together. Both operands lie in shared memory, described by OperandAt(): 64 rows
// of A and 256 of B. A lane of warp w, with g = lane / 4 and t = lane % 4, has these sums:
//   sum[4·j], sum[4·j + 1]: row 16·w + g, columns 8·j + 2t, 8·j + 2t + 1
//   sum[4·j + 2], sum[4·j + 3]: row 16·w + g + 8, the same columns
#pragma once

#include "agent/burnin/gpu/kernels/device.h"

#ifdef __CUDA__
namespace muster::kernels {

#define MUSTER_SUMS_4(constraint, i) \
  constraint(sum[i]), constraint(sum[i + 1]), constraint(sum[i + 2]), constraint(sum[i + 3])
#define MUSTER_SUMS_16(constraint, i)                             \
  MUSTER_SUMS_4(constraint, i), MUSTER_SUMS_4(constraint, i + 4), \
      MUSTER_SUMS_4(constraint, i + 8), MUSTER_SUMS_4(constraint, i + 12)
#define MUSTER_SUMS_128(constraint)                                                              \
  MUSTER_SUMS_16(constraint, 0), MUSTER_SUMS_16(constraint, 16), MUSTER_SUMS_16(constraint, 32), \
      MUSTER_SUMS_16(constraint, 48), MUSTER_SUMS_16(constraint, 64),                            \
      MUSTER_SUMS_16(constraint, 80), MUSTER_SUMS_16(constraint, 96),                            \
      MUSTER_SUMS_16(constraint, 112)
#define MUSTER_NAMES_128                                                         \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                      \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"             \
  "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"             \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"             \
  "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"             \
  "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"             \
  "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111," \
  "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}"

// `rest`: the signs of A and B, and for types of 16 bits whether they are transposed.
#define MUSTER_WGMMA(name, instruction, Sum, constraint, rest)                               \
  MUSTER_DEVICE void name(Sum(&sum)[128], uint64_t a, uint64_t b) {                          \
    asm volatile(                                                                            \
        "{ .reg .pred add; setp.eq.u32 add, 0, 0; wgmma.mma_async.sync.aligned." instruction \
        " " MUSTER_NAMES_128 ", %128, %129, add" rest "; }"                                  \
        : MUSTER_SUMS_128("+" constraint)                                                    \
        : "l"(a), "l"(b));                                                                   \
  }

MUSTER_WGMMA(WgmmaF16, "m64n256k16.f32.f16.f16", float, "f", ", 1, 1, 0, 0")
MUSTER_WGMMA(WgmmaBf16, "m64n256k16.f32.bf16.bf16", float, "f", ", 1, 1, 0, 0")
MUSTER_WGMMA(WgmmaTf32, "m64n256k8.f32.tf32.tf32", float, "f", ", 1, 1")
MUSTER_WGMMA(WgmmaE4m3, "m64n256k32.f32.e4m3.e4m3", float, "f", ", 1, 1")
MUSTER_WGMMA(WgmmaS8, "m64n256k32.s32.s8.s8", int32_t, "r", "")

#undef MUSTER_WGMMA
#undef MUSTER_NAMES_128
#undef MUSTER_SUMS_128
#undef MUSTER_SUMS_16
#undef MUSTER_SUMS_4

}  // namespace muster::kernels
#endif
