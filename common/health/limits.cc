#include "common/health/limits.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::health {
namespace {

constexpr LimitInfo kLimits[] = {
    {"disk_full.percent", 95, 50, 100, "of a local file system are in use, root's reserve aside"},
    {"inodes_full.percent", 95, 50, 100, "of a local file system's inodes are in use"},
    {"mount_hung.seconds", 20, 2, 300, "without an answer of a network file system"},
    {"gpu_temperature.celsius", 90, 40, 120, "of a GPU"},
    {"gpu_temperature.kelvin_above_others", 25, 5, 80,
     "above the median of the node's other GPUs of its model that work as hard, of which there are "
     "at least two"},
    {"gpu_memory_temperature.celsius", 95, 40, 130,
     "of a GPU's memory, where the driver does not tell its highest operating temperature"},
    {"nvlink_replay.per_day", 100, 1, 1000000,
     "errors that a GPU's NVLinks repaired; a recovery of a link counts as twenty-five"},
    {"pcie_replay.per_minute", 8, 1, 100000, "packets that a GPU's link sends again"},
    {"nic_flapping.per_day", 5, 2, 1000, "losses of the link of an interface"},
    {"nic_errors.per_minute", 10, 1, 1000000, "damaged packets that an interface received"},
    {"ib_errors.per_hour", 120, 1, 1000000,
     "symbol errors of an InfiniBand port; a recovery of the link counts as ten, its loss as "
     "sixty"},
    {"memory_ecc_corrected.per_hour", 100, 1, 1000000, "corrected errors of the memory"},
    {"clock_offset.seconds", 0.5, 0.001, 240, "between the clock and its time servers"},
};

const LimitInfo* Find(absl::string_view name) {
  const auto* const found = std::find_if(std::begin(kLimits), std::end(kLimits),
                                         [name](const LimitInfo& row) { return row.name == name; });
  return found == std::end(kLimits) ? nullptr : found;
}

}  // namespace

absl::Span<const LimitInfo> LimitTable() { return kLimits; }

absl::StatusOr<double> ParseLimit(absl::string_view name, absl::string_view text) {
  const LimitInfo* const limit = Find(name);
  if (limit == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("there is no limit '", name, "'"));
  double value = 0;
  // Written so that NaN is refused, too.
  if (absl::SimpleAtod(text, &value) && value >= limit->min && value <= limit->max) return value;
  return absl::InvalidArgumentError(absl::StrCat("the limit ", name, " is a number from ",
                                                 limit->min, " to ", limit->max, ", not '", text,
                                                 "'"));
}

Limits Limits::Parse(const std::map<std::string, std::string>& given,
                     std::vector<std::string>& refused) {
  Limits limits;
  for (const auto& [name, text] : given) {
    const absl::StatusOr<double> value = ParseLimit(name, text);
    if (value.ok()) {
      limits.given_[name] = *value;
    } else {
      refused.emplace_back(value.status().message());
    }
  }
  return limits;
}

double Limits::Of(absl::string_view name) const {
  const auto found = given_.find(name);
  if (found != given_.end()) return found->second;
  const LimitInfo* const limit = Find(name);
  assert(limit != nullptr);
  return limit->value;
}

}  // namespace muster::health
