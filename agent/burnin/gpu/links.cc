#include "agent/burnin/gpu/links.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::burnin {
namespace {

constexpr LinkCounter kLinkCounters[] = {
    {"replay", nvml::kLinkReplay},
    {"recovery", nvml::kLinkRecovery},
    {"crc_flit", nvml::kLinkCrcFlit},
    {"crc_data", nvml::kLinkCrcData},
};

bool HasBridges(absl::string_view model) {
  for (const absl::string_view part :
       {"PCIe", "PCIE", "NVL", "GeForce", "RTX", "Quadro", "TITAN", " A30", " A40"})
    if (absl::StrContains(model, part)) return true;
  return false;
}

// A field of the fabric's health mask and its values that are wrong; 0 is "not supported".
struct HealthRow {
  unsigned shift, mask;
  unsigned first_wrong, last_wrong;
  const char* what;
};
constexpr HealthRow FlagRow(unsigned shift, const char* what) {
  return {shift, nvml::kHealthFlagMask, nvml::kHealthFlagTrue, nvml::kHealthFlagTrue, what};
}
constexpr HealthRow kHealth[] = {
    FlagRow(nvml::kHealthDegradedBandwidth, "its bandwidth is degraded"),
    FlagRow(nvml::kHealthRouteRecovery, "a route is being recovered"),
    FlagRow(nvml::kHealthRouteUnhealthy, "a route is unhealthy"),
    FlagRow(nvml::kHealthAccessTimeout, "it recovers from an access that timed out"),
    // Every number above "right" is a way of being incorrect.
    {nvml::kHealthIncorrectConfiguration, nvml::kHealthConfigurationMask,
     nvml::kHealthConfigurationRight + 1, nvml::kHealthConfigurationMask,
     "its configuration is incorrect"},
};

}  // namespace

absl::StatusOr<std::vector<bool>> ReadLinks(const NvmlDevice& device) {
  std::vector<bool> links;
  for (unsigned link = 0; link < nvml::kMaxLinks; ++link) {
    const absl::StatusOr<bool> up = device.LinkUp(link);
    // If link 0 is not supported, there are no links; if a later one is not, these were all.
    if (!up.ok() && link == 0) return up.status();
    if (!up.ok()) break;
    links.push_back(*up);
  }
  return links;
}

size_t LinksUp(const std::vector<bool>& links) {
  return static_cast<size_t>(std::count(links.begin(), links.end(), true));
}

size_t MissingLinks(absl::string_view model, const std::vector<bool>& links) {
  const size_t up = LinksUp(links);
  return up == 0 || HasBridges(model) ? 0 : links.size() - up;
}

absl::Span<const LinkCounter> LinkCounters() { return kLinkCounters; }

absl::StatusOr<unsigned long long> SumOfLinks(const NvmlDevice& device, size_t links,
                                              nvml::LinkErrorCounter counter) {
  absl::StatusOr<unsigned long long> sum =
      absl::UnimplementedError("no NVLink counts these errors");
  for (unsigned link = 0; link < links; ++link) {
    const absl::StatusOr<unsigned long long> count = device.LinkErrors(link, counter);
    if (count.ok()) {
      sum = sum.value_or(0) + *count;
    } else if (!absl::IsUnimplemented(count.status())) {
      return count.status();
    }
  }
  return sum;
}

std::vector<FabricFault> JudgeFabric(const nvml::FabricInfo& fabric) {
  if (fabric.state == nvml::kFabricNotStarted || fabric.state == nvml::kFabricInProgress)
    return {{FabricTrouble::kNotReady,
             "is not yet part of the NVLink fabric: is the fabric manager "
             "(nvidia-fabricmanager) running?"}};
  std::vector<FabricFault> faults;
  if (fabric.state != nvml::kFabricCompleted) return faults;
  if (fabric.status != nvml::kSuccess)
    faults.push_back({FabricTrouble::kError,
                      absl::StrCat("could not join the NVLink fabric (NVML error ", fabric.status,
                                   "): look into the fabric manager's log and for SXid in dmesg")});
  std::vector<std::string> ills;
  for (const HealthRow& row : kHealth) {
    const unsigned value = (fabric.health_mask >> row.shift) & row.mask;
    if (value < row.first_wrong || value > row.last_wrong) continue;
    ills.push_back(absl::StrCat(
        row.what, row.first_wrong == row.last_wrong ? "" : absl::StrCat(" (", value, ")")));
  }
  if (!ills.empty())
    faults.push_back(
        {FabricTrouble::kUnhealthy,
         absl::StrCat("is not well connected to the NVLink fabric: ", absl::StrJoin(ills, ", "),
                      ": look into the fabric manager's log and for SXid in dmesg")});
  return faults;
}

}  // namespace muster::burnin
