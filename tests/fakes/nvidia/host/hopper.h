// agent/burnin/gpu/kernels/hopper/instructions.h and wgmma.h on the host: barriers in shared
// memory, the copy engine with its 128-byte swizzle, and wgmma by the documented layouts of its
// operands and sums.
//
// Copies and products are done when they start; a kernel that does not wait for them is not found
// here. Sums round as those of mma.h.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fakes/nvidia/host/grid.h"
#include "tests/fakes/nvidia/host/mma.h"
#include "tests/fakes/nvidia/host/tensor_map.h"

namespace muster::kernels {

// Where shared memory begins: not where the swizzle wants it, as on a GPU that keeps some for
// itself.
inline constexpr uint32_t kHostSharedBegin = 0x410;

inline uint32_t SharedMemory() { return kHostSharedBegin; }

[[noreturn]] inline void HopperDies(const char* why) {
  std::fprintf(stderr, "fake GPU: %s\n", why);
  std::abort();
}

template <typename T>
T* HostShared(uint32_t address) {
  if (address % alignof(T) != 0) HopperDies("an address of shared memory is not aligned");
  return static_cast<T*>(fake_nvidia::SharedBytes(address - kHostSharedBegin, sizeof(T)));
}

struct HostBarrier {
  uint8_t arrivals, pending;
  uint16_t phase;
  int32_t bytes;  // that are still to come

  void EndPhaseIfOver() {
    if (pending != 0 || bytes != 0) return;
    pending = arrivals;
    ++phase;
  }
  void Arrive() {
    if (pending == 0) HopperDies("more arrive at a barrier than it was made for");
    --pending;
    EndPhaseIfOver();
  }
};
static_assert(sizeof(HostBarrier) == 8);

inline void InitBarrier(uint32_t barrier, unsigned arrivals) {
  *HostShared<HostBarrier>(barrier) = {static_cast<uint8_t>(arrivals),
                                       static_cast<uint8_t>(arrivals), 0, 0};
}
inline void PublishBarriers() {}
inline void Arrive(uint32_t barrier) { HostShared<HostBarrier>(barrier)->Arrive(); }
inline void ArriveExpecting(uint32_t barrier, unsigned bytes) {
  auto* at = HostShared<HostBarrier>(barrier);
  at->bytes += static_cast<int32_t>(bytes);
  at->Arrive();
}
inline void AwaitPhase(uint32_t barrier, unsigned parity) {
  fake_nvidia::WaitUntil([=] { return (HostShared<HostBarrier>(barrier)->phase & 1u) != parity; });
}

#define MUSTER_TENSOR_MAP(name, index, parameter) reinterpret_cast<uint64_t>(&(parameter))

// The 128-byte swizzle: the place of a part of 16 bytes in its row is exchanged by the row's
// number.
inline uint32_t Swizzled(uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

inline void StartBoxCopy(uint32_t shared, uint64_t map_address, uint64_t x, uint64_t y,
                         uint32_t barrier) {
  const fake_nvidia::FakeTensorMap map =
      fake_nvidia::ReadTensorMap(reinterpret_cast<const void*>(map_address));
  if (map.mark != map.kMark) HopperDies("the copy engine was given no tensor map");
  if (shared % 1024 != 0) HopperDies("the swizzle repeats every 1024 bytes; a copy begins between");
  for (uint32_t row = 0; row < map.box_rows; ++row) {
    for (uint32_t part = 0; part < map.box_bytes; part += 16) {
      auto* to = HostShared<char[16]>(Swizzled(shared + row * map.box_bytes + part));
      const bool inside = y + row < map.rows && x + part < map.row_bytes;
      if (inside)
        std::memcpy(
            to, reinterpret_cast<const char*>(map.address) + (y + row) * map.stride + x + part, 16);
      else
        std::memset(to, 0, 16);
    }
  }
  auto* at = HostShared<HostBarrier>(barrier);
  at->bytes -= static_cast<int32_t>(map.box_bytes * map.box_rows);
  at->EndPhaseIfOver();
}

template <int kRegisters>
void KeepRegisters() {}
template <int kRegisters>
void TakeRegisters() {}
inline void BeginProducts() {}
inline void EndProducts() {}
inline void AwaitProducts() {}

// Four bytes of row `row` of an operand that OperandAt() describes.
inline uint32_t OperandWord(uint64_t operand, uint32_t row, uint32_t byte) {
  if (operand >> 62 != 1) HopperDies("only the 128-byte swizzle is known here");
  const auto address = static_cast<uint32_t>(operand & 0x3fff) << 4;
  const auto eight_rows = static_cast<uint32_t>(operand >> 32 & 0x3fff) << 4;
  return *HostShared<uint32_t>(Swizzled(address + row / 8 * eight_rows + row % 8 * 128 + byte));
}

template <typename Format, typename Sum>
void HostWgmma(Sum (&sum)[128], uint64_t a, uint64_t b) {
  const unsigned thread = fake_nvidia::Here().thread % 128;
  const unsigned lane = thread % 32;
  for (unsigned half = 0; half < 2; ++half) {
    decltype(Format::Value(0, 0)) of_a[8 * Format::kIn32];
    for (unsigned k = 0; k < 8; ++k) {
      const uint32_t word = OperandWord(a, thread / 32 * 16 + lane / 4 + half * 8, k * 4);
      for (int e = 0; e < Format::kIn32; ++e) of_a[k * Format::kIn32 + e] = Format::Value(word, e);
    }
    for (unsigned j = 0; j < 64; ++j) {
      Sum& c = sum[j / 2 * 4 + half * 2 + j % 2];
      auto exact = Format::Value(0, 0) + c;
      for (unsigned k = 0; k < 8; ++k) {
        const uint32_t of_b = OperandWord(b, j / 2 * 8 + lane % 4 * 2 + j % 2, k * 4);
        for (int e = 0; e < Format::kIn32; ++e)
          exact += of_a[k * Format::kIn32 + e] * Format::Value(of_b, e);
      }
      c = static_cast<Sum>(exact);
    }
  }
}

inline void WgmmaF16(float (&sum)[128], uint64_t a, uint64_t b) { HostWgmma<HostF16>(sum, a, b); }
inline void WgmmaBf16(float (&sum)[128], uint64_t a, uint64_t b) { HostWgmma<HostBf16>(sum, a, b); }
inline void WgmmaTf32(float (&sum)[128], uint64_t a, uint64_t b) { HostWgmma<HostTf32>(sum, a, b); }
inline void WgmmaE4m3(float (&sum)[128], uint64_t a, uint64_t b) { HostWgmma<HostE4m3>(sum, a, b); }
inline void WgmmaS8(int32_t (&sum)[128], uint64_t a, uint64_t b) { HostWgmma<HostS8>(sum, a, b); }

}  // namespace muster::kernels
