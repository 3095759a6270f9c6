#include "agent/burnin/gpu/inventory/pcie_load.h"

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "agent/burnin/gpu/driver/cuda_context.h"
#include "agent/burnin/gpu/driver/cuda_driver.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

constexpr size_t kBytes = size_t{16} << 20;
// On a Gen1 x1 link so many copies take some tenths of a second, on a link at full speed
// milliseconds. By then it has long left its idle state.
constexpr int kCopiesBefore = 4;

struct Buffers {
  std::unique_ptr<CudaDriver> driver;
  std::unique_ptr<CudaContext> context;
  DeviceMemory device;
  HostMemory host;
};

absl::StatusOr<std::unique_ptr<Buffers>> Prepare(const std::string& pci_address) {
  auto buffers = std::make_unique<Buffers>();
  ASSIGN_OR_RETURN(buffers->driver, CudaDriver::Load());
  ASSIGN_OR_RETURN(const cuda::Device device, buffers->driver->DeviceByPciAddress(pci_address));
  ASSIGN_OR_RETURN(buffers->context, CudaContext::Create(*buffers->driver, device));
  ASSIGN_OR_RETURN(buffers->device, buffers->context->Allocate(kBytes));
  ASSIGN_OR_RETURN(buffers->host, buffers->context->AllocateHost(kBytes));
  return buffers;
}

absl::Status CopyOnce(const Buffers& buffers) {
  const CudaContext& gpu = *buffers.context;
  RETURN_IF_ERROR(gpu.CopyToDevice(buffers.device.get(), buffers.host.get(), kBytes, nullptr));
  RETURN_IF_ERROR(gpu.CopyToHost(buffers.host.get(), buffers.device.get(), kBytes, nullptr));
  return gpu.Synchronize();
}

}  // namespace

absl::Status UnderPcieLoad(const std::string& pci_address, const std::function<void()>& read) {
  absl::StatusOr<std::unique_ptr<Buffers>> buffers = Prepare(pci_address);
  absl::Status status = buffers.status();
  for (int i = 0; status.ok() && i < kCopiesBefore; ++i) status = CopyOnce(**buffers);
  if (!status.ok()) {
    read();
    return status;
  }
  std::atomic<bool> stop = false;
  std::thread copier([&] {
    while (!stop.load() && status.ok()) status = CopyOnce(**buffers);
  });
  read();
  stop.store(true);
  copier.join();
  return status;
}

}  // namespace muster::burnin
