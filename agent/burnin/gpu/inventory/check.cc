// The check gpu-inventory: the GPUs of the node, and whether they are as they should be.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/burnin/bounded.h"
#include "agent/burnin/gpu/checks.h"
#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/gpu/inventory/judge.h"
#include "agent/burnin/gpu/inventory/reading.h"
#include "agent/burnin/gpu/pci_slots.h"
#include "common/base/clock.h"
#include "common/base/text/counted.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

constexpr char kModuleVersionFile[] = "/proc/driver/nvidia/version";

// "the driver sees", "the PCI bus has".
void JudgeCount(absl::string_view who, unsigned count, const Expectations& wanted,
                CheckResult& result) {
  if (!wanted.count.has_value() || count == *wanted.count) return;
  AddFault(result, "gpu_count", "",
           absl::StrCat(who, " ", Counted(count, "GPU"), ", not ", *wanted.count,
                        count < *wanted.count ? ": look for the others in lspci and dmesg" : ""));
}

}  // namespace

CheckResult RunGpuInventory(CheckContext& context) {
  CheckResult result;
  const absl::Duration timeout = absl::Seconds(context.parameters.Number("answer-timeout"));
  const Expectations wanted = ExpectationsOf(context.parameters);
  absl::StatusOr<Gpus> gpus = OpenGpusToRead(context, result);
  if (!gpus.ok()) {
    // Without a driver there may still be a GPU: the last one may have fallen off the bus before
    // the boot.
    const absl::StatusOr<std::vector<std::string>> there = GpuSlots(context.files);
    if (there.ok() && static_cast<double>(there->size()) < wanted.count.value_or(0))
      JudgeCount("the PCI bus has", static_cast<unsigned>(there->size()), wanted, result);
    AddUnknown(result, gpus.status().message());
    return result;
  }
  AddMetric(result, "gpus", "", "", gpus->count);
  JudgeCount("the driver sees", gpus->count, wanted, result);
  if (gpus->count == 0 && result.faults.empty()) AddUnknown(result, SeesNoGpu(context.files));
  const absl::StatusOr<std::string> module = context.files.Read(kModuleVersionFile);
  JudgeDriver(gpus->driver_version, module.value_or(""), wanted, result);
  for (size_t i = 0; i < gpus->chosen.size() && !context.reporter.stopping(); ++i) {
    const Gpu& gpu = gpus->chosen[i];
    context.reporter.SetPhase(absl::StrCat("GPU ", gpu.index),
                              static_cast<double>(i) / static_cast<double>(gpus->chosen.size()));
    // The thread may outlive this function: it gets its own reference to the library.
    std::optional<GpuReading> reading = RunBounded<GpuReading>(
        context.clock, timeout, [gpu, nvml = gpus->nvml] { return ReadGpu(gpu); });
    if (reading.has_value()) {
      LimitByPort(ReadPortAbove(context.files, PciFolder(gpu.pci_address)), *reading);
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
