// FP16 on the tensor cores of Volta, whose instruction has a shape of its own: see MmaF16K4.
#include "agent/burnin/gpu/kernels/gemm_mma.h"
#include "agent/burnin/gpu/kernels/mma.h"

namespace muster::kernels {

// A warp's four quad pairs compute 16 × 16 of C: a pair takes four rows of each eight and four
// columns of each eight, so that the lanes of half a warp read from eight different rows.
MUSTER_DEVICE int VoltaRow(int row, int lane) { return row % 4 + lane / 4 % 2 * 4 + row / 4 * 8; }
MUSTER_DEVICE int VoltaColumn(int column, int lane) {
  return column % 4 + lane / 8 % 2 * 4 + column / 4 * 8;
}

MUSTER_DEVICE void VoltaStage(const MmaTile& tile_a, const MmaTile& tile_b, int warp_row,
                              int warp_column, float (&sum)[4][4][8]) {
  const int lane = ThreadIndex() % 32;
  const int own = lane % 4 + lane / 16 * 4;
  MUSTER_UNROLL
  for (int step = 0; step < kMmaStage; step += 8) {
    uint32_t a[4][2], b[4][2];
    MUSTER_UNROLL
    for (int i = 0; i < 4; ++i) {
      MUSTER_UNROLL
      for (int part = 0; part < 2; ++part) {
        a[i][part] =
            Load<uint32_t>(&tile_a.bytes[warp_row + i * 16 + VoltaRow(own, lane)][step + part * 4]);
        b[i][part] = Load<uint32_t>(
            &tile_b.bytes[warp_column + i * 16 + VoltaColumn(own, lane)][step + part * 4]);
      }
    }
    MUSTER_UNROLL
    for (int i = 0; i < 4; ++i) {
      MUSTER_UNROLL
      for (int j = 0; j < 4; ++j) MmaF16K4(sum[i][j], a[i], b[j]);
    }
  }
}

MUSTER_DEVICE void CopyNow(void* to, const void* from) {
  *static_cast<Bytes16*>(to) = *static_cast<const Bytes16*>(from);
}

MUSTER_KERNEL(kMmaThreads)
gemm_f16_sm70(const uint8_t* a, const uint8_t* b, float* c, uint64_t columns, uint64_t depth) {
  static MUSTER_SHARED MmaTile tile_a, tile_b;
  const uint64_t depth_bytes = depth * 2;
  const int warp = ThreadIndex() / 32, lane = ThreadIndex() % 32;
  const int warp_row = warp / 2 * 64, warp_column = warp % 2 * 64;
  const uint64_t row = uint64_t{BlockY()} * kMmaTile, column = uint64_t{BlockX()} * kMmaTile;
  float sum[4][4][8] = {};
  for (uint64_t done = 0; done < depth_bytes; done += kMmaStage) {
    SyncBlock();  // all have read the stage
    FetchTile(tile_a, a + row * depth_bytes + done, depth_bytes, CopyNow);
    FetchTile(tile_b, b + column * depth_bytes + done, depth_bytes, CopyNow);
    SyncBlock();
    VoltaStage(tile_a, tile_b, warp_row, warp_column, sum);
  }
  MUSTER_UNROLL
  for (int i = 0; i < 4; ++i) {
    MUSTER_UNROLL
    for (int j = 0; j < 4; ++j) {
      MUSTER_UNROLL
      for (int k = 0; k < 8; ++k) {
        const int own_row = (lane & 1) + (k & 2) + lane / 16 * 4;
        const int own_column = (k & 4) + (lane & 2) + (k & 1);
        c[(row + warp_row + i * 16 + VoltaRow(own_row, lane)) * columns + column + warp_column +
          j * 16 + VoltaColumn(own_column, lane)] = sum[i][j][k];
      }
    }
  }
}

}  // namespace muster::kernels
