// mma.sync on the host, by the layout of fragments described in agent/burnin/gpu/kernels/mma.h.
//
// A sum is made exactly, in double or integers, and rounded once per instruction: at least as
// precise as a tensor core, and always the same, though not the bits of any particular one.
#pragma once

#include <cstdint>

#include "agent/burnin/gpu/number.h"
#include "tests/fakes/nvidia/host/grid.h"

namespace muster::kernels {

// How many elements 32 bits hold, and the value of one of them.
struct HostF16 {
  static constexpr int kIn32 = 2;
  static double Value(uint32_t word, int i) { return burnin::FromF16(word >> (16 * i) & 0xffff); }
};
struct HostBf16 {
  static constexpr int kIn32 = 2;
  static double Value(uint32_t word, int i) { return burnin::FromBf16(word >> (16 * i) & 0xffff); }
};
struct HostTf32 {
  static constexpr int kIn32 = 1;
  static double Value(uint32_t word, int) { return burnin::FromF32(word & ~uint32_t{0x1fff}); }
};
struct HostE4m3 {
  static constexpr int kIn32 = 4;
  static double Value(uint32_t word, int i) { return burnin::FromE4m3(word >> (8 * i) & 0xff); }
};
struct HostS8 {
  static constexpr int kIn32 = 4;
  static int64_t Value(uint32_t word, int i) { return static_cast<int8_t>(word >> (8 * i)); }
};

struct Fragment {
  uint32_t a[4] = {};
  uint32_t b[2] = {};
};

inline const Fragment* ShareInWarp(const Fragment& own) {
  auto* all = static_cast<Fragment*>(fake_nvidia::WarpExchange(sizeof(Fragment)));
  all[fake_nvidia::Here().thread % 32] = own;
  fake_nvidia::WaitForWarp();
  return all;
}

// The shapes of 16 × 8. `parts` counts 16 bytes of depth each.
template <typename Format, typename Sum>
void HostMma16x8(Sum* c, const Fragment& own, int parts) {
  const Fragment* warp = ShareInWarp(own);
  const unsigned lane = fake_nvidia::Here().thread % 32;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4, half = i / 2, column = lane % 4 * 2 + i % 2;
    auto sum = Format::Value(0, 0) + c[i];
    for (int part = 0; part < parts; ++part)
      for (unsigned k = 0; k < 4; ++k)
        for (int e = 0; e < Format::kIn32; ++e)
          sum += Format::Value(warp[row * 4 + k].a[part * 2 + half], e) *
                 Format::Value(warp[column * 4 + k].b[part], e);
    c[i] = static_cast<Sum>(sum);
  }
}

inline void MmaF16K16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  HostMma16x8<HostF16>(c, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, 2);
}
inline void MmaBf16K16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  HostMma16x8<HostBf16>(c, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, 2);
}
inline void MmaTf32K8(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  HostMma16x8<HostTf32>(c, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, 2);
}
inline void MmaS8K32(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  HostMma16x8<HostS8>(c, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, 2);
}
inline void MmaE4m3K32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  HostMma16x8<HostE4m3>(c, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, 2);
}

inline void MmaF16K8(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b0) {
  HostMma16x8<HostF16>(c, {{a0, a1}, {b0}}, 1);
}
// 8 rows: the other half of the sums is unused.
inline void MmaS8K16(int32_t& c0, int32_t& c1, uint32_t a0, uint32_t b0) {
  int32_t c[4] = {c0, c1};
  HostMma16x8<HostS8>(c, {{a0}, {b0}}, 1);
  c0 = c[0];
  c1 = c[1];
}

inline void MmaF16K4(float (&c)[8], const uint32_t (&a)[2], const uint32_t (&b)[2]) {
  const Fragment* warp = ShareInWarp({{a[0], a[1]}, {b[0], b[1]}});
  const unsigned lane = fake_nvidia::Here().thread % 32;
  const unsigned pair = lane % 16 / 4 * 4;
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned row = (lane & 1) + (i & 2) + lane / 16 * 4;
    const unsigned column = (i & 4) + (lane & 2) + (i & 1);
    const Fragment& of_a = warp[pair + row % 4 + row / 4 * 16];
    const Fragment& of_b = warp[pair + column % 4 + column / 4 * 16];
    double sum = c[i];
    for (int k = 0; k < 4; ++k)
      sum += HostF16::Value(of_a.a[k / 2], k % 2) * HostF16::Value(of_b.b[k / 2], k % 2);
    c[i] = static_cast<float>(sum);
  }
}

}  // namespace muster::kernels
