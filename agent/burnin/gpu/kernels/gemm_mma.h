// Matrix products on tensor cores of the 16 × 8 shapes, for all their types: see mma.h for the
// layout that they share.
//
// C = A · Bᵀ: A has `rows` × `depth` elements, B `columns` × `depth`, C `rows` × `columns`, all in
// row-major order. The order of every sum is fixed.
#pragma once

#include "agent/burnin/gpu/kernels/device.h"

namespace muster::kernels {

inline constexpr int kMmaThreads = 128;  // per block: four warps, each 64 × 64 of C
inline constexpr int kMmaTile = 128;     // rows and columns of C that a block computes
inline constexpr int kMmaStage = 64;     // bytes of depth in shared memory at a time
// Bytes from row to row in shared memory. 20 words: the eight rows that a warp reads together lie
// in eight different groups of four banks.
inline constexpr int kMmaRow = kMmaStage + 16;

struct alignas(16) MmaTile {
  uint8_t bytes[kMmaTile][kMmaRow];
};

using Bytes16 = Vector<uint32_t, 4>::Type;

// Fetches a stage of a matrix from global memory: every thread brings four times 16 bytes.
// `row_bytes` is the distance from row to row.
template <typename Copy>
MUSTER_DEVICE void FetchTile(MmaTile& tile, const uint8_t* from, uint64_t row_bytes, Copy copy) {
  const int row = ThreadIndex() / 4, part = ThreadIndex() % 4 * 16;
  MUSTER_UNROLL
  for (int i = 0; i < 4; ++i)
    copy(&tile.bytes[row + i * 32][part], from + (row + i * 32) * row_bytes + part);
}

// The work of a warp on a stage.
template <typename Ops>
MUSTER_DEVICE void MultiplyStage(const MmaTile& tile_a, const MmaTile& tile_b, int warp_row,
                                 int warp_column, typename Ops::Sum (&sum)[4][8][4]) {
  const int lane = ThreadIndex() % 32;
  const int group = lane / 4, offset = lane % 4 * 4;
  MUSTER_UNROLL
  for (int step = 0; step < kMmaStage; step += 32) {
    uint32_t a[4][4], b[8][2];
    MUSTER_UNROLL
    for (int i = 0; i < 4; ++i) {
      MUSTER_UNROLL
      for (int part = 0; part < 4; ++part)
        a[i][part] = Load<uint32_t>(
            &tile_a.bytes[warp_row + i * 16 + part % 2 * 8 + group][step + part / 2 * 16 + offset]);
    }
    MUSTER_UNROLL
    for (int j = 0; j < 8; ++j) {
      MUSTER_UNROLL
      for (int part = 0; part < 2; ++part)
        b[j][part] =
            Load<uint32_t>(&tile_b.bytes[warp_column + j * 8 + group][step + part * 16 + offset]);
    }
    MUSTER_UNROLL
    for (int i = 0; i < 4; ++i) {
      MUSTER_UNROLL
      for (int j = 0; j < 8; ++j) Ops::Add(sum[i][j], a[i], b[j]);
    }
  }
}

template <typename Sum>
MUSTER_DEVICE void StoreSums(const Sum (&sum)[4][8][4], Sum* c, uint64_t columns, uint64_t row,
                             uint64_t column) {
  const int lane = ThreadIndex() % 32;
  using Two = typename Vector<Sum, 2>::Type;
  MUSTER_UNROLL
  for (int i = 0; i < 4; ++i) {
    MUSTER_UNROLL
    for (int j = 0; j < 8; ++j) {
      MUSTER_UNROLL
      for (int half = 0; half < 2; ++half) {
        Sum* to =
            c + (row + i * 16 + half * 8 + lane / 4) * columns + column + j * 8 + lane % 4 * 2;
        *reinterpret_cast<Two*>(to) = Two{sum[i][j][half * 2], sum[i][j][half * 2 + 1]};
      }
    }
  }
}

// Ops defines a sum, how a product of 16 × 8 × 32 bytes is added, and how bytes are copied to
// shared memory: kBuffers is 2 if that happens while the warps multiply. rows and columns are
// multiples of kMmaTile, `depth_bytes` of kMmaStage; the grid has columns / kMmaTile × rows /
// kMmaTile blocks.
template <typename Ops>
MUSTER_DEVICE void MultiplyByMma(const uint8_t* a, const uint8_t* b, typename Ops::Sum* c,
                                 uint64_t columns, uint64_t depth_bytes) {
  constexpr int kBuffers = Ops::kBuffers;
  static MUSTER_SHARED MmaTile tile_a[kBuffers], tile_b[kBuffers];
  const int warp = ThreadIndex() / 32;
  const int warp_row = warp / 2 * 64, warp_column = warp % 2 * 64;
  const uint64_t row = uint64_t{BlockY()} * kMmaTile, column = uint64_t{BlockX()} * kMmaTile;
  a += row * depth_bytes;
  b += column * depth_bytes;

  typename Ops::Sum sum[4][8][4] = {};
  if (kBuffers == 2) {
    FetchTile(tile_a[0], a, depth_bytes, Ops::Copy);
    FetchTile(tile_b[0], b, depth_bytes, Ops::Copy);
  }
  for (uint64_t done = 0, stage = 0; done < depth_bytes;
       done += kMmaStage, stage = (stage + 1) % kBuffers) {
    if (kBuffers == 1) {
      SyncBlock();  // all have read the stage
      FetchTile(tile_a[0], a + done, depth_bytes, Ops::Copy);
      FetchTile(tile_b[0], b + done, depth_bytes, Ops::Copy);
    }
    Ops::FinishCopies();
    SyncBlock();
    if (kBuffers == 2 && done + kMmaStage < depth_bytes) {
      FetchTile(tile_a[stage ^ 1], a + done + kMmaStage, depth_bytes, Ops::Copy);
      FetchTile(tile_b[stage ^ 1], b + done + kMmaStage, depth_bytes, Ops::Copy);
    }
    MultiplyStage<Ops>(tile_a[stage], tile_b[stage], warp_row, warp_column, sum);
  }
  StoreSums(sum, c, columns, row + warp_row, column + warp_column);
}

}  // namespace muster::kernels
