// Measures how fast, and how faithfully, memory is copied between the host and GPUs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/burnin/gpu/driver/cuda_context.h"
#include "common/base/clock.h"

namespace muster::burnin {

struct CopySettings {
  uint64_t bytes = 0;   // per copy
  absl::Duration time;  // per measurement, at least one copy
  uint64_t seed = 1;    // for the data that is copied
};

struct HostCopies {
  double to_device_gbytes_per_s = 0;
  double to_host_gbytes_per_s = 0;
  double both_gbytes_per_s = 0;  // both directions at once, summed
  std::string damage;  // where the data that came back differs from the data sent; mostly empty
};

// Uses page-locked memory of the NUMA node that the calling thread prefers. `stop`: asked between
// copies.
absl::StatusOr<HostCopies> MeasureHostCopies(const CudaContext& context, Clock& clock,
                                             const CopySettings& settings,
                                             const std::function<bool()>& stop);

struct PeerCopies {
  double gbytes_per_s = 0;
  bool direct = false;  // without the host's memory in between
  std::string damage;   // as above
};

// From one GPU to another.
absl::StatusOr<PeerCopies> MeasurePeerCopies(const CudaContext& from, const CudaContext& to,
                                             Clock& clock, const CopySettings& settings,
                                             const std::function<bool()>& stop);

}  // namespace muster::burnin
