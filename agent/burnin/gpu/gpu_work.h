// The common parts of all checks that work on GPUs in parallel.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/check.h"
#include "agent/burnin/gpu/driver/cuda_context.h"
#include "agent/burnin/gpu/driver/cuda_driver.h"
#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// GPUs that a check may work on.
struct GpuBench {
  Gpus gpus;
  std::unique_ptr<CudaDriver> driver;
};

// Opens the chosen GPUs and CUDA. The parameter "max-temperature" replaces the driver's own limit;
// GPUs that are hot from earlier work cool first. nullopt: `result` says why not.
std::optional<GpuBench> OpenBench(CheckContext& context, CheckResult& result);

// The context of one of them.
absl::StatusOr<std::unique_ptr<CudaContext>> OpenContext(const GpuBench& bench, const Gpu& gpu);

// Calls `work` for all GPUs at once, each in a thread of its own, with an empty result that is then
// added to `result` in the order of the GPUs, attributes of the GPU's subject included. An error of
// `work` goes through AddGpuError(). Returns when all are done; if a GPU hangs, never.
using GpuWork = std::function<absl::Status(size_t index, const Gpu& gpu, CheckResult& result)>;
void WorkOnAll(const GpuBench& bench, const GpuWork& work, CheckResult& result);

// A GPU that is lost, whose memory fails or that fails in its work is at fault ("gpu_lost",
// "ecc_uncorrected", "gpu_error"); any other error, such as a state of the node's software, makes
// the check unknown.
void AddGpuError(const Gpu& gpu, const absl::Status& error, CheckResult& result);

// "GPU 2 (GPU-1f…, slot 0000:3b:00.0)".
std::string Describe(const Gpu& gpu);

// Seconds since the check started, for samples.
absl::Duration SinceStart(const CheckContext& context);

}  // namespace muster::burnin
