#include "agent/reading/node_reader.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/facts/sysfs.h"
#include "agent/health/probes/gpu_readings.h"
#include "agent/health/probes/interfaces.h"
#include "common/base/clock.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kWorkerTimeLimit = absl::Seconds(10);
constexpr size_t kMaxWorkerText = size_t{256} << 10;
// Where the worker finds neither GPUs nor a power meter, only every so many readings ask it.
constexpr int kIdleReadings = 10;
constexpr size_t kMaxPorts = 32;
constexpr double kBytesPerMegabit = 1e6 / 8;
// InfiniBand counts data in words of four bytes (Linux,
// Documentation/ABI/stable/sysfs-class-infiniband).
constexpr double kInfinibandWord = 4;

void Set(const health::GpuReading& gpu, absl::string_view name, double unit,
         const std::function<void(float)>& set) {
  if (const std::optional<double> value = gpu.Value(name)) set(static_cast<float>(*value * unit));
}

v1::GpuReading ToProto(const health::GpuReading& gpu) {
  v1::GpuReading reading;
  uint32_t index = 0;
  if (absl::SimpleAtoi(gpu.index, &index)) reading.set_index(index);
  reading.set_is_lost(gpu.Value("muster_gpu_lost").value_or(0) != 0);
  Set(gpu, "muster_gpu_utilization_ratio", 1, [&](float of) { reading.set_busy_ratio(of); });
  Set(gpu, "muster_gpu_temperature_celsius", 1,
      [&](float of) { reading.set_temperature_celsius(of); });
  Set(gpu, "muster_gpu_power_watts", 1, [&](float of) { reading.set_power_watts(of); });
  Set(gpu, "muster_gpu_power_limit_watts", 1, [&](float of) { reading.set_power_limit_watts(of); });
  Set(gpu, "muster_gpu_sm_clock_hertz", 1e-6, [&](float of) { reading.set_sm_clock_mhz(of); });
  if (const auto used = gpu.Value("muster_gpu_memory_used_bytes"))
    reading.set_memory_used_bytes(static_cast<uint64_t>(*used));
  if (const auto total = gpu.Value("muster_gpu_memory_total_bytes"))
    reading.set_memory_total_bytes(static_cast<uint64_t>(*total));
  return reading;
}

// "100 Gb/sec (4X EDR)" in bytes per second; 0: something else.
double ParseRate(absl::string_view text) {
  double gigabits = 0;
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  if (words.size() < 2 || words[1] != "Gb/sec" || !absl::SimpleAtod(words[0], &gigabits)) return 0;
  return std::isfinite(gigabits) && gigabits > 0 ? gigabits * 1e9 / 8 : 0;
}

}  // namespace

NodeReader::NodeReader(Options options, sys::ProcessRunner& processes, Clock& clock)
    : options_(std::move(options)), clock_(clock), child_(processes) {}

v1::NodeReadings NodeReader::Read() {
  v1::NodeReadings readings;
  ReadProcessors(readings);
  ReadMemory(readings);
  ReadLinks(readings);
  ReadWorker(readings);
  return readings;
}

void NodeReader::ReadProcessors(v1::NodeReadings& readings) {
  const absl::StatusOr<std::string> text = ReadText(options_.root + "/proc/stat");
  if (!text.ok()) return;
  // "cpu  user nice system idle iowait irq softirq steal …" (proc(5)).
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::string_view(*text).substr(0, text->find('\n')), ' ', absl::SkipEmpty());
  constexpr size_t kIdle = 4, kWait = 5, kSteal = 8;
  if (words.size() <= kSteal || words[0] != "cpu") return;
  Ticks now;
  for (size_t i = 1; i <= kSteal; ++i) {
    uint64_t ticks = 0;
    if (!absl::SimpleAtoi(words[i], &ticks)) return;
    now.all += ticks;
    if (i != kIdle && i != kWait) now.busy += ticks;
  }
  const std::optional<Ticks> before = std::exchange(ticks_, now);
  if (!before.has_value() || now.all <= before->all || now.busy < before->busy) return;
  readings.set_cpu_busy_ratio(std::min(1.0F, static_cast<float>(now.busy - before->busy) /
                                                 static_cast<float>(now.all - before->all)));
}

void NodeReader::ReadMemory(v1::NodeReadings& readings) const {
  const absl::StatusOr<std::string> text = ReadText(options_.root + "/proc/meminfo");
  if (!text.ok()) return;
  std::map<absl::string_view, uint64_t> kibibytes;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    uint64_t value = 0;
    if (words.size() > 1 && absl::SimpleAtoi(words[1], &value)) kibibytes[words[0]] = value;
  }
  const uint64_t total = kibibytes["MemTotal:"];
  readings.set_memory_total_bytes(total * 1024);
  readings.set_memory_used_bytes((total - std::min(total, kibibytes["MemAvailable:"])) * 1024);
}

std::optional<double> NodeReader::Rate(const std::string& path, double unit) {
  const std::optional<int64_t> value = ReadNumber(path);
  if (!value.has_value() || *value < 0) return std::nullopt;
  const Count now{static_cast<uint64_t>(*value), clock_.Now()};
  const auto [place, is_new] = counts_.try_emplace(path, now);
  const Count before = std::exchange(place->second, now);
  const double seconds = absl::ToDoubleSeconds(now.at - before.at);
  if (is_new || seconds <= 0 || now.value < before.value) return std::nullopt;
  return static_cast<double>(now.value - before.value) * unit / seconds;
}

void NodeReader::ReadLinks(v1::NodeReadings& readings) {
  for (const std::string& name : health::EthernetInterfaces(options_.root)) {
    const std::string device = absl::StrCat(options_.root, "/sys/class/net/", name);
    if (ReadNumber(device + "/carrier").value_or(0) != 1) continue;
    v1::LinkReading& link = *readings.add_links();
    link.set_name(name);
    link.set_received_bytes_per_s(Rate(device + "/statistics/rx_bytes", 1).value_or(0));
    link.set_sent_bytes_per_s(Rate(device + "/statistics/tx_bytes", 1).value_or(0));
    const auto megabits = static_cast<double>(ReadNumber(device + "/speed").value_or(0));
    link.set_bytes_per_s(std::max(0.0, megabits) * kBytesPerMegabit);
  }
  // Ports of Ethernet adapters, too: they count what RDMA moves past the interface.
  const std::string adapters = options_.root + "/sys/class/infiniband";
  size_t ports = 0;
  for (const std::string& adapter : ListNames(adapters)) {
    const std::string folder = absl::StrCat(adapters, "/", adapter, "/ports");
    for (const std::string& port : ListNames(folder)) {
      const std::string path = absl::StrCat(folder, "/", port);
      if (!absl::StrContains(ReadValue(path + "/state").value_or(""), "ACTIVE")) continue;
      if (++ports > kMaxPorts) return;
      v1::LinkReading& link = *readings.add_links();
      link.set_name(absl::StrCat(adapter, "/", port));
      link.set_received_bytes_per_s(
          Rate(path + "/counters/port_rcv_data", kInfinibandWord).value_or(0));
      link.set_sent_bytes_per_s(
          Rate(path + "/counters/port_xmit_data", kInfinibandWord).value_or(0));
      link.set_bytes_per_s(ParseRate(ReadValue(path + "/rate").value_or("")));
    }
  }
}

void NodeReader::ReadWorker(v1::NodeReadings& readings) {
  if (readings_without_gpus_ % kIdleReadings != 0) {
    ++readings_without_gpus_;
    return;
  }
  const absl::StatusOr<sys::ProcessResult> read =
      child_.Run({options_.burnin, "metrics", "--node-power"}, kWorkerTimeLimit, kMaxWorkerText);
  if (!read.ok() || !read->ok()) {
    // Where the package of checks is not installed nobody expects GPUs to be read.
    if (!absl::IsNotFound(read.status())) {
      readings.set_gpu_trouble(
          read.ok() ? absl::StrCat("muster-burnin metrics ended with status ", read->exit_code)
                    : std::string(read.status().message()));
    } else {
      ++readings_without_gpus_;
    }
    return;
  }
  const health::GpuReadings found = health::ParseGpuReadings(read->out);
  for (const health::GpuReading& gpu : found.gpus) *readings.add_gpus() = ToProto(gpu);
  std::sort(readings.mutable_gpus()->begin(), readings.mutable_gpus()->end(),
            [](const v1::GpuReading& a, const v1::GpuReading& b) { return a.index() < b.index(); });
  if (found.node_power_watts.has_value())
    readings.set_power_watts(static_cast<float>(*found.node_power_watts));
  const bool is_idle = found.gpus.empty() && !found.node_power_watts.has_value();
  readings_without_gpus_ = is_idle ? readings_without_gpus_ + 1 : 0;
}

}  // namespace muster::agent
