#include "agent/health/probes/probe.h"

#include <iterator>
#include <utility>

#include "absl/strings/match.h"

namespace muster::agent::health {
namespace {

struct PatienceRow {
  const char* name;
  // For how many seconds it has to be seen bad, and well again.
  int bad_after_s, good_after_s;
  bool must_be_seen_well = false;
};

constexpr size_t kMostConditions = 16;

struct Row {
  const char* name;
  int interval_s, time_limit_s;
  std::unique_ptr<Probe> (*make)(const ProbeContext& context);
  PatienceRow conditions[kMostConditions];
};

constexpr int kMinute = 60;
constexpr int kHour = 3600;

// Two looks in a row have to agree, except where a counter does not err.
constexpr Row kRows[] = {
    // Longer than the time that the probe gives its program for sixteen GPUs.
    {"gpus",
     kMinute,
     4 * kMinute,
     &MakeGpuProbe,
     {{"gpu_lost", 50, 2 * kMinute},
      {"gpu_driver", 50, 2 * kMinute},
      {"gpu_ecc", 0, 0},
      {"gpu_row_remap", 0, 2 * kMinute},
      {"gpu_row_remap_failed", 0, 2 * kMinute},
      {"gpu_throttle", 5 * kMinute, 10 * kMinute},
      {"gpu_temperature", 2 * kMinute, 5 * kMinute},
      {"gpu_memory_temperature", 2 * kMinute, 5 * kMinute},
      // The fabric manager needs minutes after a boot.
      {"gpu_fabric", 5 * kMinute, 2 * kMinute},
      {"nvlink_down", 2 * kMinute, 2 * kMinute},
      {"nvlink_replay", 0, 0},
      {"pcie_replay", 0, 0},
      {"pcie_degraded", 10 * kMinute, 2 * kMinute}}},
    {"nics",
     30,
     10,
     &MakeNicProbe,
     {{"nic_down", 25, kMinute},
      {"nic_slow", kMinute, kMinute},
      {"nic_flapping", 0, 0},
      {"nic_errors", 0, 0}}},
    {"infiniband",
     30,
     10,
     &MakeInfinibandProbe,
     {{"ib_port", 25, 2 * kMinute}, {"ib_errors", 0, 0}}},
    {"file systems",
     30,
     10,
     &MakeFileSystemProbe,
     {{"disk_full", 25, kMinute}, {"inodes_full", 25, kMinute}, {"disk_readonly", 0, kMinute}}},
    {"mounts", 30, 10 * kMinute, &MakeMountProbe, {{"mount_hung", 0, kMinute}}},
    // A disk that was failing and does not answer any more has died.
    {"disks",
     kHour,
     20 * kMinute,
     &MakeDiskProbe,
     {{"disk_health", 0, 0, /*must_be_seen_well=*/true}}},
    {"memory",
     kMinute,
     10,
     &MakeMemoryProbe,
     {{"memory_ecc", 0, 0}, {"memory_ecc_corrected", 0, 0}}},
    // A BMC smooths its readings itself.
    {"bmc",
     5 * kMinute,
     6 * kMinute,
     &MakeBmcProbe,
     {{"bmc_sensor", 0, 4 * kMinute}, {"bmc_log", 0, 0}}},
    {"units",
     30,
     kMinute,
     &MakeUnitProbe,
     {{"unit_failed", 25, 25}, {"slurmd_down", 25, 25}, {"munge_down", 25, 25}}},
    {"time", kMinute, 30, &MakeTimeProbe, {{"clock_offset", 10 * kMinute, 2 * kMinute}}},
    // After an outage of the controller all nodes renew at once, and the first attempt may fail.
    {"certificate",
     5 * kMinute,
     10,
     &MakeCertificateProbe,
     {{"certificate_renewal", 30 * kMinute, 0}}},
};

}  // namespace

void GpuNames::Set(std::map<std::string, std::string> uuids) {
  absl::MutexLock lock(&mutex_);
  uuids_ = std::move(uuids);
}

bool GpuNames::empty() const {
  absl::MutexLock lock(&mutex_);
  return uuids_.empty();
}

std::string GpuNames::At(absl::string_view slot) const {
  if (slot.empty()) return "";
  absl::MutexLock lock(&mutex_);
  const auto found = uuids_.lower_bound(std::string(slot));
  if (found == uuids_.end() || !absl::StartsWith(found->first, slot)) return "";
  return found->second;
}

std::vector<ProbeSpec> MakeProbes(const ProbeContext& context) {
  std::vector<ProbeSpec> probes;
  for (const Row& row : kRows) {
    ProbeSpec spec = {.name = row.name,
                      .conditions = {},
                      .interval = absl::Seconds(row.interval_s),
                      .time_limit = absl::Seconds(row.time_limit_s),
                      .probe = row.make(context)};
    for (const PatienceRow& condition : row.conditions) {
      if (condition.name == nullptr) break;
      spec.conditions.push_back({condition.name,
                                 {.bad_after = absl::Seconds(condition.bad_after_s),
                                  .good_after = absl::Seconds(condition.good_after_s)},
                                 condition.must_be_seen_well});
    }
    probes.push_back(std::move(spec));
  }
  return probes;
}

}  // namespace muster::agent::health
