#include "agent/burnin/gpu/inventory/check.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/burnin/bounded.h"
#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/gpu/inventory/judge.h"
#include "agent/burnin/gpu/inventory/reading.h"
#include "common/base/clock.h"
#include "common/base/counted.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

constexpr char kModuleVersionFile[] = "/proc/driver/nvidia/version";

}  // namespace

CheckResult RunGpuInventory(CheckContext& context) {
  CheckResult result;
  const absl::Duration timeout = absl::Seconds(context.parameters.Number("answer-timeout"));
  const Expectations wanted = ExpectationsOf(context.parameters);
  absl::StatusOr<Gpus> gpus = OpenGpusToRead(context, result);
  if (!gpus.ok()) {
    AddUnknown(result, gpus.status().message());
    return result;
  }
  AddMetric(result, "gpus", "", "", gpus->count);
  if (wanted.count.has_value() && gpus->count != *wanted.count)
    AddFault(result, "gpu_count", "",
             absl::StrCat("the driver sees ", Counted(gpus->count, "GPU"), ", not ", *wanted.count,
                          ": look for the others in lspci and dmesg"));
  const absl::StatusOr<std::string> module = context.files.Read(kModuleVersionFile);
  JudgeDriver(gpus->driver_version, module.value_or(""), wanted, result);
  for (size_t i = 0; i < gpus->chosen.size() && !context.reporter.stopping(); ++i) {
    const Gpu& gpu = gpus->chosen[i];
    context.reporter.SetPhase(absl::StrCat("GPU ", gpu.index),
                              static_cast<double>(i) / static_cast<double>(gpus->chosen.size()));
    // The thread may outlive this function: it gets its own hold of the library.
    const std::optional<GpuReading> reading = RunBounded<GpuReading>(
        context.clock, timeout, [gpu, nvml = gpus->nvml] { return ReadGpu(gpu); });
    if (reading.has_value()) {
      JudgeGpu(gpu, *reading, wanted, result);
    } else {
      AddFault(
          result, "driver_hangs", gpu.uuid,
          absl::StrCat("GPU ", gpu.index, " has not answered for ", absl::FormatDuration(timeout)));
    }
  }
  return result;
}

}  // namespace muster::burnin
