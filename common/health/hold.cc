#include "common/health/hold.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace muster::health {
namespace {

struct Hold {
  absl::string_view condition;
  int64_t hours;  // 0: until the next boot
};
// Hardware that has lied once is believed again after a boot, which resets it. A failing disk that
// is gone may have died or been taken out. The rest ends by itself when nothing more is logged.
constexpr Hold kHolds[] = {
    {"gpu_xid", 0},       {"gpu_ecc", 0},         {"machine_check", 0},  {"kernel_oops", 0},
    {"disk_readonly", 0}, {"disk_health", 0},     {"kernel_lockup", 24}, {"pcie_error", 24},
    {"nvlink_error", 24}, {"disk_errors", 24},    {"gpu_xid_watch", 24}, {"nvlink_replay", 24},
    {"hung_task", 1},     {"cpu_temperature", 1}, {"oom_kill", 1},
};

}  // namespace

std::optional<absl::Duration> HoldOf(absl::string_view condition) {
  const auto* const found =
      std::find_if(std::begin(kHolds), std::end(kHolds),
                   [condition](const Hold& hold) { return hold.condition == condition; });
  if (found == std::end(kHolds)) return std::nullopt;
  return found->hours == 0 ? absl::InfiniteDuration() : absl::Hours(found->hours);
}

}  // namespace muster::health
