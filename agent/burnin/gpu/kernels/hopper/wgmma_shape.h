// Sizes of the products on Hopper's tensor cores, for kernel and host.
#pragma once

#include <stdint.h>

namespace muster::kernels {

inline constexpr int kWarpgroup = 128;       // threads
inline constexpr int kWgmmaMultipliers = 2;  // warpgroups that multiply; one more fetches
inline constexpr int kWgmmaThreads = (1 + kWgmmaMultipliers) * kWarpgroup;
inline constexpr int kWgmmaRows = 128, kWgmmaColumns = 256;  // of C that a block computes at a time
inline constexpr int kWgmmaDepth = 128;  // bytes of depth of a stage: a row of the 128-byte swizzle
inline constexpr int kWgmmaStages = 4;
inline constexpr int kWgmmaStageBytes = (kWgmmaRows + kWgmmaColumns) * kWgmmaDepth;
// The stages, two barriers for each, and up to 1023 bytes before the first.
inline constexpr int kWgmmaSharedBytes = kWgmmaStages * (kWgmmaStageBytes + 16) + 1024;
// Rows of tiles that blocks fill column by column: as many again run at the same time side by side.
inline constexpr unsigned kWgmmaBand = 16;
// 128 · 40 + 256 · 232 registers: what a multiprocessor has, but for 1024.
inline constexpr int kWgmmaFetchRegisters = 40, kWgmmaMultiplyRegisters = 232;

}  // namespace muster::kernels
