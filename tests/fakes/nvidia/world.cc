#include "tests/fakes/nvidia/world.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace muster::fake_nvidia {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMi = uint64_t{1} << 20;
constexpr uint64_t kDefaultBacking = 256 * kMi;

template <typename T>
void Take(const Json& json, const char* key, T& value) {
  if (const auto found = json.find(key); found != json.end()) value = found->get<T>();
}

void TakeCondition(const Json& gpu, const char* key, Condition& condition) {
  const auto found = gpu.find(key);
  if (found == gpu.end()) return;
  Take(*found, "temperature", condition.temperature);
  Take(*found, "memory_temperature", condition.memory_temperature);
  if (found->contains("margin")) condition.margin = (*found)["margin"].get<int>();
  Take(*found, "power_watts", condition.power_watts);
  Take(*found, "sm_clock_mhz", condition.sm_clock_mhz);
  Take(*found, "memory_clock_mhz", condition.memory_clock_mhz);
  Take(*found, "clock_reasons", condition.clock_reasons);
  Take(*found, "pcie_generation", condition.pcie_generation);
  Take(*found, "pcie_width", condition.pcie_width);
}

void TakeNewErrors(const Json& gpu, NewErrors& errors) {
  const auto found = gpu.find("new_errors");
  if (found == gpu.end()) return;
  Take(*found, "ecc_corrected", errors.ecc_corrected);
  Take(*found, "ecc_uncorrected", errors.ecc_uncorrected);
  Take(*found, "nvlink", errors.nvlink);
  Take(*found, "remapped", errors.remapped);
  Take(*found, "retired", errors.retired);
  Take(*found, "pcie_replays", errors.pcie_replays);
}

void TakeFlips(const Json& gpu, Flips& flips) {
  const auto found = gpu.find("flips");
  if (found == gpu.end()) return;
  Take(*found, "memory_after_s", flips.memory_after_s);
  Take(*found, "memory_every_s", flips.memory_every_s);
  Take(*found, "kernel_every", flips.kernel_every);
  Take(*found, "allocation", flips.allocation);
  Take(*found, "bits", flips.bits);
}

std::string Format(const char* format, unsigned number) {
  char text[64];
  std::snprintf(text, sizeof(text), format, number);
  return text;
}

// A healthy card of that model in slot `index`.
Gpu FromPreset(const Preset& preset, unsigned index) {
  Gpu gpu;
  gpu.preset = &preset;
  gpu.name = preset.name;
  gpu.uuid = Format("GPU-00000000-0000-0000-0000-%012u", index);
  if (preset.data_centre) gpu.serial = Format("1650%09u", index);
  gpu.vbios = preset.vbios;
  gpu.pci_address = Format("0000:%02x:00.0", 0x3b + index);
  gpu.memory_bytes = preset.memory_mib * kMi;
  gpu.backing_bytes = std::min(gpu.memory_bytes, kDefaultBacking);
  gpu.power_limit_watts = preset.power_limit_watts;
  gpu.max_pcie_generation = gpu.card_max_pcie_generation = preset.pcie_generation;
  gpu.idle = {.temperature = 34,
              .power_watts = 0.1 * preset.power_limit_watts,
              .sm_clock_mhz = 300,
              .clock_reasons = 1,
              .pcie_generation = 1};
  gpu.busy = {.temperature = 68,
              .power_watts = 0.94 * preset.power_limit_watts,
              .sm_clock_mhz = preset.sm_clock_mhz * 9 / 10,
              .clock_reasons = 4,
              .pcie_generation = preset.pcie_generation};
  gpu.idle.memory_clock_mhz = gpu.busy.memory_clock_mhz = preset.memory_clock_mhz;
  gpu.application_clock_mhz = preset.sm_clock_mhz;
  gpu.xid_events = preset.data_centre;
  gpu.ecc = preset.data_centre;
  gpu.nvlinks = preset.nvlinks;
  gpu.nvlinks_up = preset.data_centre ? preset.nvlinks : 0;
  gpu.fabric_state = 0;
  gpu.peer_access = preset.data_centre;
  return gpu;
}

Gpu ParseGpu(const Json& json, unsigned index) {
  const std::string key = json.value("preset", "rtx_2080_ti");
  const Preset* preset = FindPreset(key.c_str());
  if (preset == nullptr) throw std::invalid_argument("no preset " + key);
  Gpu gpu = FromPreset(*preset, index);
  Take(json, "name", gpu.name);
  Take(json, "uuid", gpu.uuid);
  Take(json, "serial", gpu.serial);
  Take(json, "vbios", gpu.vbios);
  Take(json, "pci_address", gpu.pci_address);
  Take(json, "memory_bytes", gpu.memory_bytes);
  Take(json, "backing_bytes", gpu.backing_bytes);
  Take(json, "power_limit_watts", gpu.power_limit_watts);
  TakeCondition(json, "idle", gpu.idle);
  TakeCondition(json, "busy", gpu.busy);
  Take(json, "max_temperature", gpu.max_temperature);
  Take(json, "slowdown_temperature", gpu.slowdown_temperature);
  Take(json, "memory_max_temperature", gpu.memory_max_temperature);
  if (json.contains("least_margin")) gpu.least_margin = json["least_margin"].get<int>();
  Take(json, "xid_events", gpu.xid_events);
  Take(json, "xids", gpu.xids);
  TakeNewErrors(json, gpu.new_errors);
  Take(json, "max_pcie_generation", gpu.max_pcie_generation);
  Take(json, "max_pcie_width", gpu.max_pcie_width);
  Take(json, "card_max_pcie_generation", gpu.card_max_pcie_generation);
  Take(json, "application_clock_mhz", gpu.application_clock_mhz);
  Take(json, "pcie_replays", gpu.pcie_replays);
  Take(json, "persistence", gpu.persistence);
  Take(json, "ecc", gpu.ecc);
  Take(json, "ecc_corrected", gpu.ecc_corrected);
  Take(json, "ecc_uncorrected", gpu.ecc_uncorrected);
  Take(json, "remapped_corrected", gpu.remapped_corrected);
  Take(json, "remapped_uncorrected", gpu.remapped_uncorrected);
  Take(json, "remap_pending", gpu.remap_pending);
  Take(json, "remap_failed", gpu.remap_failed);
  Take(json, "retired_single", gpu.retired_single);
  Take(json, "retired_double", gpu.retired_double);
  Take(json, "nvlinks", gpu.nvlinks);
  Take(json, "nvlinks_up", gpu.nvlinks_up);
  Take(json, "nvlink_errors", gpu.nvlink_errors);
  Take(json, "unsupported_link_counter", gpu.unsupported_link_counter);
  Take(json, "fabric_state", gpu.fabric_state);
  Take(json, "fabric_status", gpu.fabric_status);
  Take(json, "fabric_health", gpu.fabric_health);
  Take(json, "mig", gpu.mig);
  Take(json, "compute_mode", gpu.compute_mode);
  Take(json, "not_supported", gpu.not_supported);
  Take(json, "answers", gpu.answers);
  Take(json, "hang", gpu.hang);
  Take(json, "lost_after_s", gpu.lost_after_s);
  Take(json, "context_error", gpu.context_error);
  Take(json, "launch_error", gpu.launch_error);
  Take(json, "peer_access", gpu.peer_access);
  Take(json, "slowdown", gpu.slowdown);
  Take(json, "copy_gbytes_per_s", gpu.copy_gbytes_per_s);
  TakeFlips(json, gpu.flips);
  for (const Json& process : json.value("processes", Json::array()))
    gpu.processes.push_back({.pid = process.value("pid", 1u),
                             .memory_bytes = process.value("memory_bytes", 0ull),
                             .graphics = process.value("graphics", false)});
  return gpu;
}

std::shared_ptr<const World> ParseWorld(const std::string& text) {
  const Json json = Json::parse(text);
  auto world = std::make_shared<World>();
  world->driver_version = json.value("driver_version", "535.261.03");
  Take(json, "cuda_version", world->cuda_version);
  Take(json, "nvml_init", world->nvml_init);
  Take(json, "cuda_init", world->cuda_init);
  Take(json, "hang", world->hang);
  const Json cublas = json.value("cublas", Json::object());
  for (const auto& [number, told] : cublas.items())
    world->cublas[std::stoi(number)] = {.create = told.value("create", 0),
                                        .refuses = told.value("refuses", std::vector<int>())};
  for (const Json& gpu : json.value("gpus", Json::array()))
    for (unsigned i = 0; i < gpu.value("count", 1u); ++i)
      world->gpus.push_back(ParseGpu(gpu, static_cast<unsigned>(world->gpus.size())));
  return world;
}

std::shared_ptr<const World> WithoutDriver() {
  auto world = std::make_shared<World>();
  world->nvml_init = 9;    // the driver is not loaded
  world->cuda_init = 100;  // no device
  return world;
}

const char* FilePath() {
  const char* path = std::getenv("MUSTER_FAKE_NVIDIA");
  return path != nullptr ? path : "/etc/muster-fake-nvidia.json";
}

bool Contains(const std::vector<std::string>& list, const char* word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool Hangs(const World& world, const char* function, int gpu) {
  return Contains(world.hang, function) ||
         (gpu >= 0 && static_cast<size_t>(gpu) < world.gpus.size() &&
          Contains(world.gpus[gpu].hang, function));
}

}  // namespace

std::shared_ptr<const World> CurrentWorld() {
  static auto& mutex = *new std::mutex;
  // Never destroyed: a thread that hangs in a call, as told, outlives main().
  static auto& current = *new std::shared_ptr<const World>(WithoutDriver());
  static struct stat seen = {};
  const std::lock_guard<std::mutex> lock(mutex);
  struct stat now = {};
  if (stat(FilePath(), &now) != 0) {
    seen = {};
    current = WithoutDriver();
    return current;
  }
  if (now.st_mtim.tv_sec == seen.st_mtim.tv_sec && now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec &&
      now.st_ino == seen.st_ino && now.st_size == seen.st_size)
    return current;
  std::ifstream file(FilePath());
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  try {
    current = ParseWorld(text);
    seen = now;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake nvidia: %s: %s\n", FilePath(), error.what());
  }
  return current;
}

void HangIfTold(const char* function, int gpu) {
  while (Hangs(*CurrentWorld(), function, gpu))
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace muster::fake_nvidia
