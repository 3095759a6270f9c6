#include "tests/fakes/nvidia/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>

namespace muster::fake_nvidia {

DeviceMemory& DeviceMemory::Instance() {
  static auto* const memory = new DeviceMemory;
  return *memory;
}

uint64_t DeviceMemory::Allocate(int gpu, const Gpu& spec, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t others = 0;
  for (const FakeProcess& process : spec.processes) others += process.memory_bytes;
  const uint64_t room =
      std::min(spec.backing_bytes, spec.memory_bytes - std::min(spec.memory_bytes, others));
  if (bytes == 0 || used_[gpu] + bytes > room) return 0;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return 0;
  const auto address = reinterpret_cast<uint64_t>(pages);
  blocks_[address] = {gpu, bytes, ++allocations_};
  used_[gpu] += bytes;
  return address;
}

bool DeviceMemory::Free(uint64_t address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto block = blocks_.find(address);
  if (block == blocks_.end()) return false;
  munmap(reinterpret_cast<void*>(address), block->second.bytes);
  used_[block->second.gpu] -= block->second.bytes;
  blocks_.erase(block);
  return true;
}

bool DeviceMemory::Covers(uint64_t address, size_t bytes) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return false;
  --block;
  return address + bytes <= block->first + block->second.bytes;
}

uint64_t DeviceMemory::UsedBytes(int gpu) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto used = used_.find(gpu);
  return used != used_.end() ? used->second : 0;
}

void DeviceMemory::FlipWhatIsDue(int gpu, const Flips& flips, double since_first_context_s,
                                 uint64_t launches) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (flips.kernel_every > 0 && launches > 0 && launches % flips.kernel_every == 0)
    FlipBits(gpu, flips);
  if (flips.memory_after_s < 0 || since_first_context_s < flips.memory_after_s) return;
  const double late = since_first_context_s - flips.memory_after_s;
  const unsigned due =
      flips.memory_every_s > 0 ? 1 + static_cast<unsigned>(late / flips.memory_every_s) : 1;
  for (unsigned& done = memory_flips_[gpu]; done < due; ++done) FlipBits(gpu, flips);
}

void DeviceMemory::FlipBits(int gpu, const Flips& flips) {
  std::vector<std::pair<uint64_t, uint64_t>> candidates;  // order, address
  for (const auto& [address, block] : blocks_)
    if (block.gpu == gpu) candidates.push_back({block.order, address});
  if (candidates.empty()) return;
  std::sort(candidates.begin(), candidates.end());
  const auto count = static_cast<int64_t>(candidates.size());
  int64_t chosen = static_cast<int64_t>(random_() % static_cast<uint64_t>(count));
  if (flips.allocation > 0) chosen = std::min<int64_t>(flips.allocation, count) - 1;
  if (flips.allocation < 0) chosen = std::max<int64_t>(count + flips.allocation, 0);
  const uint64_t address = candidates[static_cast<size_t>(chosen)].second;
  for (unsigned i = 0; i < flips.bits; ++i) {
    const uint64_t bit = random_() % (8 * blocks_[address].bytes);
    reinterpret_cast<unsigned char*>(address)[bit / 8] ^=
        static_cast<unsigned char>(1u << (bit % 8));
  }
}

}  // namespace muster::fake_nvidia
