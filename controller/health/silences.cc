#include "controller/health/silences.h"

#include <utility>

#include "common/base/text/hostlist.h"

namespace muster::controller::health {

Silences::Silences(std::vector<HealthSilenceRecord> records, absl::Time now) {
  for (HealthSilenceRecord& record : records) {
    if (record.until <= now) continue;
    const absl::StatusOr<std::vector<std::string>> nodes = ExpandHostlist(record.nodes);
    if (!nodes.ok()) continue;  // it was checked when it was stored
    silences_.push_back({std::move(record), {nodes->begin(), nodes->end()}});
  }
}

const HealthSilenceRecord* Silences::Find(const std::string& node,
                                          absl::string_view condition) const {
  const HealthSilenceRecord* found = nullptr;
  for (const Silence& silence : silences_) {
    const HealthSilenceRecord& record = silence.record;
    const bool covers = record.condition.empty() || record.condition == condition;
    if (!covers || !silence.nodes.contains(node)) continue;
    if (found == nullptr || record.until > found->until) found = &record;
  }
  return found;
}

}  // namespace muster::controller::health
