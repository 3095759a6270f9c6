// What the fake's cuTensorMapEncodeTiled() writes and its copy engine reads: a matrix of bytes.
#pragma once

#include <cstdint>
#include <cstring>

#include "agent/burnin/gpu/kernels/hopper/tensor_map.h"

namespace muster::fake_nvidia {

struct FakeTensorMap {
  static constexpr uint64_t kMark = 0x70616d2d72736e74;

  uint64_t mark = 0;  // kMark
  uint64_t address = 0, row_bytes = 0, rows = 0, stride = 0;
  uint32_t box_bytes = 0, box_rows = 0;
};
static_assert(sizeof(FakeTensorMap) <= sizeof(kernels::TensorMap));

inline FakeTensorMap ReadTensorMap(const void* map) {
  FakeTensorMap out;
  std::memcpy(&out, map, sizeof(out));
  return out;
}

}  // namespace muster::fake_nvidia
