// How fast, and how faithfully, memory is copied between the host and GPUs.
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
  uint64_t bytes = 0;   // of one copy
  absl::Duration time;  // of each measurement, at least one copy
  uint64_t seed = 1;    // of what is copied
};

struct HostCopies {
  double to_device_gbytes_per_s = 0;
  double to_host_gbytes_per_s = 0;
  double both_gbytes_per_s = 0;  // both ways at once, together
  std::string damage;            // where what came back differs from what was sent; mostly empty
};

// With page-locked memory of the NUMA node that the calling thread prefers. `stop`: asked between
// copies.
absl::StatusOr<HostCopies> MeasureHostCopies(const CudaContext& context, Clock& clock,
                                             const CopySettings& settings,
                                             const std::function<bool()>& stop);

struct PeerCopies {
  double gbytes_per_s = 0;
  bool direct = false;  // without the host's memory between
  std::string damage;   // as above
};

// From one GPU to another.
absl::StatusOr<PeerCopies> MeasurePeerCopies(const CudaContext& from, const CudaContext& to,
                                             Clock& clock, const CopySettings& settings,
                                             const std::function<bool()>& stop);

}  // namespace muster::burnin
