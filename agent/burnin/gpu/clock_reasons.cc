#include "agent/burnin/gpu/clock_reasons.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::burnin {
namespace {

struct Row {
  unsigned long long bit;
  const char* name;
};
constexpr Row kRows[] = {
    {nvml::kReasonIdle, "idle"},
    {nvml::kReasonApplicationClocks, "application_clocks"},
    {nvml::kReasonSoftwarePowerCap, "sw_power_cap"},
    {nvml::kReasonHardwareSlowdown, "hw_slowdown"},
    {nvml::kReasonSyncBoost, "sync_boost"},
    {nvml::kReasonSoftwareThermal, "sw_thermal"},
    {nvml::kReasonHardwareThermal, "hw_thermal"},
    {nvml::kReasonPowerBrake, "power_brake"},
    {nvml::kReasonDisplayClocks, "display_clocks"},
};

}  // namespace

std::string ClockReasonNames(unsigned long long reasons) {
  std::vector<std::string> names;
  for (const Row& row : kRows) {
    if ((reasons & row.bit) != 0) names.emplace_back(row.name);
    reasons &= ~row.bit;
  }
  if (reasons != 0) names.push_back(absl::StrCat("0x", absl::Hex(reasons)));
  return absl::StrJoin(names, ", ");
}

}  // namespace muster::burnin
