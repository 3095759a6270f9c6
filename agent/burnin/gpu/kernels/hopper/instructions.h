// What Hopper adds for kernels that keep its tensor cores busy: copies by the copy engine (TMA)
// that signal a barrier in shared memory, and products whose operands lie there (wgmma). Runs on
// compute capability 9.0 alone.
//
// Shared memory is named by addresses of 32 bits, as the instructions want them.
#pragma once

#include "agent/burnin/gpu/kernels/device.h"
#include "agent/burnin/gpu/kernels/hopper/tensor_map.h"

#ifdef __CUDA__
namespace muster::kernels {

// Where the shared memory begins that the launch asked for.
MUSTER_DEVICE uint32_t SharedMemory() {
  extern MUSTER_SHARED uint8_t dynamic_shared_memory[];
  return static_cast<uint32_t>(
      reinterpret_cast<uint64_t>((__attribute__((address_space(3))) void*)dynamic_shared_memory));
}

// Barriers: 8 bytes, aligned. A phase ends when so many have arrived and all expected bytes have.

MUSTER_DEVICE void InitBarrier(uint32_t barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Before the block synchronizes: the copy engine sees the barriers, too.
MUSTER_DEVICE void PublishBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
}
MUSTER_DEVICE void Arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives, and adds bytes that copies will bring.
MUSTER_DEVICE void ArriveExpecting(uint32_t barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
// Waits for the end of a phase; phases are even and odd by turns, the first is even.
MUSTER_DEVICE void AwaitPhase(uint32_t barrier, unsigned parity) {
  unsigned over = 0;
  while (over == 0)
    asm volatile(
        "{ .reg .pred over; mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2; "
        "selp.b32 %0, 1, 0, over; }"
        : "=r"(over)
        : "r"(barrier), "r"(parity)
        : "memory");
}

// The address of `parameter`, a TensorMap and parameter `index` of the kernel `name`: the copy
// engine reads the map itself, where the launch has put it. The parameter has no other use, for
// which the compiler would make a copy of it.
#define MUSTER_TENSOR_MAP(name, index, parameter)                                          \
  ([] {                                                                                    \
    static_assert(sizeof(parameter) == sizeof(TensorMap));                                 \
    uint64_t address;                                                                      \
    asm("{ .reg .b64 at; mov.b64 at, " #name "_param_" #index "; cvta.param.u64 %0, at; }" \
        : "=l"(address));                                                                  \
    return address;                                                                        \
  }())

// Starts the copy of the map's box that begins at byte `x` of row `y`. One thread calls.
MUSTER_DEVICE void StartBoxCopy(uint32_t shared, uint64_t map, uint64_t x, uint64_t y,
                                uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared),
      "l"(map), "r"(static_cast<int32_t>(x)), "r"(static_cast<int32_t>(y)), "r"(barrier)
      : "memory");
}

// Registers move from the threads that copy to those that multiply. All warps of a warpgroup call.
template <int kRegisters>
MUSTER_DEVICE void KeepRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
MUSTER_DEVICE void TakeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Products run beside the threads. Sums may be touched after AwaitProducts() alone, and a batch
// begins with BeginProducts(), which orders earlier writes to them before it.
MUSTER_DEVICE void BeginProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MUSTER_DEVICE void EndProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
MUSTER_DEVICE void AwaitProducts() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

}  // namespace muster::kernels
#endif

namespace muster::kernels {

// Describes rows of 128 bytes in shared memory to the products: eight rows are 1024 bytes, whose
// parts of 16 bytes have been exchanged by the copy engine ("128-byte swizzle") so that no two rows
// lie in the same banks. `address` is that of the first row, itself a multiple of 1024, plus the
// bytes of depth that are skipped.
MUSTER_DEVICE uint64_t OperandAt(uint32_t address) {
  constexpr uint64_t kEightRows = uint64_t{1024 / 16} << 32;
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  return kSwizzle128 | kEightRows | (address & 0x3ffff) >> 4;
}

}  // namespace muster::kernels
