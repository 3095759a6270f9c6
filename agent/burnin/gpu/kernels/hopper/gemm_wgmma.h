// Matrix products on the tensor cores of Hopper, for all their types.
//
// C = A · Bᵀ for square matrices in row-major order. A block computes 128 × 256 elements of C after
// the other. One of its warpgroups has the copy engine fetch stages of A and B into a ring in
// shared memory; the other two multiply, each 64 rows. Each sum runs over the depth in order, in
// the same warpgroup: its bits do not depend on which block comes when.
#pragma once

#include "agent/burnin/gpu/kernels/hopper/instructions.h"
#include "agent/burnin/gpu/kernels/hopper/wgmma.h"
#include "agent/burnin/gpu/kernels/hopper/wgmma_shape.h"

namespace muster::kernels {

// The places of the ring: full when a stage has come, empty when both warpgroups have read it.
class WgmmaRing {
 public:
  explicit MUSTER_DEVICE WgmmaRing(uint32_t begin) : begin_(begin) {}

  MUSTER_DEVICE uint32_t a() const { return begin_ + stage_ * kWgmmaStageBytes; }
  MUSTER_DEVICE uint32_t b() const { return a() + kWgmmaRows * kWgmmaDepth; }
  MUSTER_DEVICE uint32_t full() const { return Barriers() + stage_ * 16; }
  MUSTER_DEVICE uint32_t empty() const { return full() + 8; }
  // The parity of the present phase of full(); that of empty() is the other one.
  MUSTER_DEVICE unsigned parity() const { return parity_; }
  MUSTER_DEVICE void Advance() {
    if (++stage_ < kWgmmaStages) return;
    stage_ = 0;
    parity_ ^= 1;
  }

  MUSTER_DEVICE void InitBarriers() const {
    for (int stage = 0; stage < kWgmmaStages; ++stage) {
      InitBarrier(Barriers() + stage * 16, 1);
      InitBarrier(Barriers() + stage * 16 + 8, kWgmmaMultipliers);
    }
  }

 private:
  MUSTER_DEVICE uint32_t Barriers() const { return begin_ + kWgmmaStages * kWgmmaStageBytes; }

  uint32_t begin_;
  uint32_t stage_ = 0;
  unsigned parity_ = 0;
};

// The block's tiles of C, one after the other. Blocks that run at the same time work on
// neighboring rows and columns, which they find in the cache of the GPU.
class WgmmaTiles {
 public:
  MUSTER_DEVICE WgmmaTiles(unsigned size, unsigned first, unsigned step)
      : rows_(size / kWgmmaRows),
        columns_((size + kWgmmaColumns - 1) / kWgmmaColumns),
        tile_(first),
        step_(step) {}

  MUSTER_DEVICE bool Done() const { return tile_ >= rows_ * columns_; }
  MUSTER_DEVICE void Advance() { tile_ += step_; }
  // The first row and column of the present one.
  MUSTER_DEVICE void Locate(unsigned& row, unsigned& column) const {
    const unsigned band = tile_ / (kWgmmaBand * columns_);
    const unsigned in_band = tile_ % (kWgmmaBand * columns_);
    const unsigned left = rows_ - band * kWgmmaBand;
    const unsigned height = left < kWgmmaBand ? left : kWgmmaBand;
    row = (band * kWgmmaBand + in_band % height) * kWgmmaRows;
    column = in_band / height * kWgmmaColumns;
  }

 private:
  unsigned rows_, columns_, tile_, step_;
};

// One thread's work: orders all stages of all tiles.
MUSTER_DEVICE void FetchStages(WgmmaRing ring, WgmmaTiles tiles, uint64_t map_a, uint64_t map_b,
                               uint64_t depth_bytes) {
  for (; !tiles.Done(); tiles.Advance()) {
    unsigned row, column;
    tiles.Locate(row, column);
    for (uint64_t depth = 0; depth < depth_bytes; depth += kWgmmaDepth, ring.Advance()) {
      AwaitPhase(ring.empty(), ring.parity() ^ 1);
      ArriveExpecting(ring.full(), kWgmmaStageBytes);
      StartBoxCopy(ring.a(), map_a, depth, row, ring.full());
      StartBoxCopy(ring.b(), map_b, depth, column, ring.full());
    }
  }
}

template <typename Sum>
MUSTER_DEVICE void StoreWgmmaSums(const Sum (&sum)[128], Sum* c, uint64_t columns, uint64_t row,
                                  uint64_t column) {
  using Two = typename Vector<Sum, 2>::Type;
  const unsigned thread = ThreadIndex() % kWarpgroup;
  const unsigned lane = thread % 32;
  Sum* to = c + (row + thread / 32 * 16 + lane / 4) * columns + column + lane % 4 * 2;
  MUSTER_UNROLL
  for (int j = 0; j < 32; ++j) {
    if (column + j * 8 >= columns) break;  // the last tile of a row may stand out
    *reinterpret_cast<Two*>(to + j * 8) = Two{sum[4 * j], sum[4 * j + 1]};
    *reinterpret_cast<Two*>(to + 8 * columns + j * 8) = Two{sum[4 * j + 2], sum[4 * j + 3]};
  }
}

// A warpgroup's work: `part` 0 has the first 64 rows of each tile, 1 the others.
template <typename Ops>
MUSTER_DEVICE void MultiplyStages(WgmmaRing ring, WgmmaTiles tiles, unsigned part,
                                  typename Ops::Sum* c, uint64_t columns, uint64_t depth_bytes) {
  constexpr int kPartRows = kWgmmaRows / kWgmmaMultipliers;
  const bool tells = ThreadIndex() % kWarpgroup == 0;
  for (; !tiles.Done(); tiles.Advance()) {
    typename Ops::Sum sum[128] = {};
    for (uint64_t depth = 0; depth < depth_bytes; depth += kWgmmaDepth, ring.Advance()) {
      AwaitPhase(ring.full(), ring.parity());
      const uint64_t a = OperandAt(ring.a() + part * kPartRows * kWgmmaDepth);
      const uint64_t b = OperandAt(ring.b());
      BeginProducts();
      MUSTER_UNROLL
      for (int step = 0; step < kWgmmaDepth / 32; ++step) Ops::Add(sum, a + step * 2, b + step * 2);
      EndProducts();
      // The other warpgroup's products fill the pause.
      AwaitProducts();
      if (tells) Arrive(ring.empty());
    }
    unsigned row, column;
    tiles.Locate(row, column);
    StoreWgmmaSums(sum, c, columns, row + part * kPartRows, column);
  }
}

// Ops defines a sum and how a product of 64 × 256 × 32 bytes is added. `columns` is a multiple of
// kWgmmaRows, `depth_bytes` of kWgmmaDepth; the grid has any number of blocks.
template <typename Ops>
MUSTER_DEVICE void MultiplyByWgmma(uint64_t map_a, uint64_t map_b, typename Ops::Sum* c,
                                   uint64_t columns, uint64_t depth_bytes) {
  // A ring begins at a multiple of 1024, for which kWgmmaSharedBytes leaves room.
  const WgmmaRing ring((SharedMemory() + 1023) / 1024 * 1024);
  const WgmmaTiles tiles(static_cast<unsigned>(columns), BlockX(), GridBlocks());
  if (ThreadIndex() == 0) {
    ring.InitBarriers();
    PublishBarriers();
  }
  SyncBlock();
  if (ThreadIndex() < kWarpgroup) {
    KeepRegisters<kWgmmaFetchRegisters>();
    if (ThreadIndex() == 0) FetchStages(ring, tiles, map_a, map_b, depth_bytes);
  } else {
    TakeRegisters<kWgmmaMultiplyRegisters>();
    MultiplyStages<Ops>(ring, tiles, ThreadIndex() / kWarpgroup - 1, c, columns, depth_bytes);
  }
}

}  // namespace muster::kernels
