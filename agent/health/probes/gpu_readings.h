// What the GPUs report, read from the text of `muster-burnin metrics`, and what it means.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/health/finding.h"
#include "agent/health/trend.h"
#include "common/health/limits.h"

namespace muster::agent::health {

struct GpuReading {
  std::string index;  // as NVML counts
  std::string uuid;   // "": it does not even tell that
  std::string model;
  std::string pci_address;
  // By name, and `name{label="value"}` for those with a label of their own.
  std::map<std::string, double, std::less<>> values;

  std::optional<double> Value(absl::string_view name) const;
  std::string name() const { return uuid.empty() ? "gpu" + index : uuid; }
};

struct GpuReadings {
  bool has_driver = false;
  std::string why_no_driver;  // "": there is one, or it is not known
  std::vector<GpuReading> gpus;
  std::optional<double> node_power_watts;  // where it was asked for
};

// The text format of Prometheus, as far as muster-burnin writes it. Lines that are nothing of the
// kind are left out, and so are GPUs beyond kMaxGpus. Pure.
inline constexpr size_t kMaxGpus = 64;
GpuReadings ParseGpuReadings(absl::string_view text);

// Whether the condition of that GPU is made from the counter of that name in the trends; an empty
// object is any GPU. Pure.
bool IsCounterOf(absl::string_view name, absl::string_view condition, absl::string_view object);

// Adds what is wrong with the GPUs that answer, and with those that say that they are lost.
void JudgeGpus(const GpuReadings& readings, const muster::health::Limits& limits, Trends& trends,
               absl::Time now, Findings& findings);

}  // namespace muster::agent::health
