// Matrix products without tensor cores: each thread sums its own elements of C.
//
// C = A · Bᵀ: A has `rows` × `depth` elements, B `columns` × `depth`, C `rows` × `columns`, all in
// row-major order. A sum is made in the order of `depth`: the same bits on every GPU that adds
// alike.
#pragma once

#include "agent/burnin/gpu/kernels/device.h"

namespace muster::kernels {

// Threads per block: 16 × 16, in one dimension.
inline constexpr int kFmaThreads = 256;
// Blocks per multiprocessor: while one waits at its barrier the other computes. Two take up to 128
// of 65,536 / (2 · 256) registers per thread, which tools/check_gpu_abi finds to be enough.
inline constexpr int kFmaBlocks = 2;

// One block computes a tile of kTile × kTile of C. Ops defines an element and a sum, and how a
// product is added. `depth` is a multiple of 8, rows and columns of kTile; the grid has columns /
// kTile × rows / kTile blocks.
template <typename Ops, int kTile>
MUSTER_DEVICE void MultiplyByThreads(const typename Ops::Element* a, const typename Ops::Element* b,
                                     typename Ops::Sum* c, uint64_t columns, uint64_t depth) {
  using Element = typename Ops::Element;
  constexpr int kStep = 8;                            // of depth, in shared memory at a time
  constexpr int kOwn = kTile / 16;                    // a thread's rows and columns
  constexpr int kGroup = kOwn / 2;                    // adjacent ones: 16 bytes
  constexpr int kLoad = kTile * kStep / kFmaThreads;  // elements that a thread fetches per step
  constexpr int kRow = kTile + kGroup;                // padded: fewer bank conflicts
  struct alignas(16) Tile {
    Element element[kStep][kRow];
  };
  using Fetched = typename Vector<Element, kLoad>::Type;
  using Group = typename Vector<Element, kGroup>::Type;
  static MUSTER_SHARED Tile tile_a[2], tile_b[2];

  const int thread = ThreadIndex();
  const int x = thread % 16, y = thread / 16;
  const int fetch_row = thread / (kStep / kLoad), fetch_step = thread % (kStep / kLoad) * kLoad;
  const Element* from_a = a + (uint64_t{BlockY()} * kTile + fetch_row) * depth + fetch_step;
  const Element* from_b = b + (uint64_t{BlockX()} * kTile + fetch_row) * depth + fetch_step;

  typename Ops::Sum sum[kOwn][kOwn] = {};
  Fetched next_a = Load<Fetched>(from_a);
  Fetched next_b = Load<Fetched>(from_b);
  for (uint64_t done = 0, stage = 0; done < depth; done += kStep, stage ^= 1) {
    for (int i = 0; i < kLoad; ++i) {
      tile_a[stage].element[fetch_step + i][fetch_row] = next_a[i];
      tile_b[stage].element[fetch_step + i][fetch_row] = next_b[i];
    }
    // One barrier per step is enough: a thread that writes a stage has passed the barrier of the
    // stage before, which all threads reached after they had read this one.
    SyncBlock();
    if (done + kStep < depth) {
      next_a = Load<Fetched>(from_a + done + kStep);
      next_b = Load<Fetched>(from_b + done + kStep);
    }
    MUSTER_UNROLL
    for (int step = 0; step < kStep; ++step) {
      Element own_a[kOwn], own_b[kOwn];
      MUSTER_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int place = half * (kTile / 2);
        const auto group_a = Load<Group>(&tile_a[stage].element[step][place + y * kGroup]);
        const auto group_b = Load<Group>(&tile_b[stage].element[step][place + x * kGroup]);
        MUSTER_UNROLL
        for (int i = 0; i < kGroup; ++i) {
          own_a[half * kGroup + i] = group_a[i];
          own_b[half * kGroup + i] = group_b[i];
        }
      }
      MUSTER_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        MUSTER_UNROLL
        for (int j = 0; j < kOwn; ++j) sum[i][j] = Ops::Add(own_a[i], own_b[j], sum[i][j]);
      }
    }
  }
  MUSTER_UNROLL
  for (int i = 0; i < kOwn; ++i) {
    const uint64_t row =
        uint64_t{BlockY()} * kTile + i / kGroup * (kTile / 2) + y * kGroup + i % kGroup;
    MUSTER_UNROLL
    for (int half = 0; half < 2; ++half) {
      const uint64_t column = uint64_t{BlockX()} * kTile + half * (kTile / 2) + x * kGroup;
      typename Vector<typename Ops::Sum, kGroup>::Type out;
      MUSTER_UNROLL
      for (int j = 0; j < kGroup; ++j) out[j] = sum[i][half * kGroup + j];
      *reinterpret_cast<decltype(out)*>(c + row * columns + column) = out;
    }
  }
}

}  // namespace muster::kernels
