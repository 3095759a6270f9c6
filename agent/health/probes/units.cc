// Units of systemd: those that failed, and the two without which the node runs no jobs.
#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/health/probes/probe.h"
#include "agent/sys/unit_manager.h"
#include "common/base/status.h"

namespace muster::agent::health {
namespace {

constexpr size_t kMaxFailed = 32;

struct NeededUnit {
  const char* unit;
  const char* condition;
};
constexpr NeededUnit kNeeded[] = {{"slurmd.service", "slurmd_down"},
                                  {"munge.service", "munge_down"}};

bool IsNeeded(const std::string& unit) {
  return std::any_of(std::begin(kNeeded), std::end(kNeeded),
                     [&unit](const NeededUnit& needed) { return unit == needed.unit; });
}

class UnitProbe final : public Probe {
 public:
  explicit UnitProbe(const ProbeContext& context) : units_(*context.units) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits&) override {
    Findings findings;
    ASSIGN_OR_RETURN(std::vector<std::string> failed, units_.ListFailed());
    if (failed.size() > kMaxFailed) failed.resize(kMaxFailed);
    for (const std::string& unit : failed) {
      if (!IsNeeded(unit))
        findings.Bad("unit_failed", unit, absl::StrCat(unit, " has failed: journalctl -u ", unit));
    }
    for (const NeededUnit& needed : kNeeded) {
      ASSIGN_OR_RETURN(const UnitStatus status, units_.GetStatus(needed.unit));
      if (!absl::StartsWith(status.unit_file_state, "enabled")) {
        findings.not_watched.emplace_back(needed.condition);
      } else if (status.active_state != "active" && status.active_state != "activating" &&
                 status.active_state != "reloading") {
        findings.Bad(needed.condition, "",
                     absl::StrCat(needed.unit, " is ", status.active_state, ": journalctl -u ",
                                  needed.unit));
      }
    }
    return findings;
  }

 private:
  UnitManager& units_;
};

}  // namespace

std::unique_ptr<Probe> MakeUnitProbe(const ProbeContext& context) {
  return std::make_unique<UnitProbe>(context);
}

}  // namespace muster::agent::health
