#include "agent/burnin/gpu/gpu_work.h"

#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/burnin/gpu/cool_down.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

template <typename T>
void Append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void Merge(CheckResult& to, CheckResult& from) {
  Append(to.metrics, from.metrics);
  Append(to.faults, from.faults);
  Append(to.digests, from.digests);
  for (Subject& subject : to.subjects)
    for (Subject& part : from.subjects)
      if (part.id == subject.id) subject.attributes.merge(part.attributes);
  for (std::string& tool : from.tools) {
    bool known = false;
    for (const std::string& other : to.tools) known |= other == tool;
    if (!known) to.tools.push_back(std::move(tool));
  }
  if (from.outcome == Outcome::kUnknown) AddUnknown(to, from.reason);
}

}  // namespace

std::optional<GpuBench> OpenBench(CheckContext& context, CheckResult& result) {
  absl::StatusOr<Gpus> gpus = OpenGpus(context, result);
  if (!gpus.ok()) {
    AddUnknown(result, gpus.status().message());
    return std::nullopt;
  }
  if (const std::optional<double> most = context.parameters.OptionalNumber("max-temperature"))
    for (Gpu& gpu : gpus->chosen) gpu.heat_limit = HeatLimit{*most, "parameter max-temperature"};
  if (const absl::Status cool = AwaitRest(context, *gpus, result); !cool.ok()) {
    AddUnknown(result, cool.message());
    return std::nullopt;
  }
  absl::StatusOr<std::unique_ptr<CudaDriver>> driver = CudaDriver::Load();
  if (!driver.ok()) {
    AddUnknown(result, absl::StrCat("CUDA cannot be used: ", driver.status().message()));
    return std::nullopt;
  }
  return GpuBench{*std::move(gpus), *std::move(driver)};
}

absl::StatusOr<std::unique_ptr<CudaContext>> OpenContext(const GpuBench& bench, const Gpu& gpu) {
  ASSIGN_OR_RETURN(const cuda::Device device, bench.driver->DeviceByPciAddress(gpu.pci_address));
  return CudaContext::Create(*bench.driver, device);
}

void WorkOnAll(const GpuBench& bench, const GpuWork& work, CheckResult& result) {
  const std::vector<Gpu>& gpus = bench.gpus.chosen;
  std::vector<CheckResult> parts(gpus.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < gpus.size(); ++i) {
    threads.emplace_back([&work, &gpus, &parts, i] {
      const absl::Status status = work(i, gpus[i], parts[i]);
      if (!status.ok()) AddGpuError(gpus[i], status, parts[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (CheckResult& part : parts) Merge(result, part);
}

void AddGpuError(const Gpu& gpu, const absl::Status& error, CheckResult& result) {
  const std::string message = absl::StrCat(Describe(gpu), ": ", error.message());
  // CUDA reports many failures with the same code; NVML knows whether the GPU is still there.
  if (absl::IsDataLoss(gpu.nvml.TemperatureCelsius().status())) {
    AddFault(
        result, "gpu_lost", gpu.uuid,
        absl::StrCat(message, "; look for Xid in the kernel's log, then reset the GPU or reboot"));
  } else if (absl::IsDataLoss(error)) {
    AddFault(result, "ecc_uncorrected", gpu.uuid,
             absl::StrCat(message,
                          "; look for Xid 48, 94 and 95 in the kernel's log, then reset "
                          "the GPU (nvidia-smi -r), which replaces the memory row"));
  } else if (absl::IsInternal(error)) {
    AddFault(result, "gpu_error", gpu.uuid, message);
  } else {
    AddUnknown(result, message);
  }
}

std::string Describe(const Gpu& gpu) {
  return absl::StrCat("GPU ", gpu.index, " (", gpu.uuid, ", slot ", gpu.pci_address, ")");
}

absl::Duration SinceStart(const CheckContext& context) {
  return context.clock.Now() - context.started_at;
}

}  // namespace muster::burnin
