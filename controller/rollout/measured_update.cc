#include "controller/rollout/measured_update.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/rollout/rollout_records.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::rollout {
namespace {

// How far back is looked.
constexpr uint32_t kMeasuredRollouts = 100;

}  // namespace

absl::StatusOr<std::optional<MeasuredUpdate>> MeasureUpdate(Transaction& txn,
                                                            absl::string_view playbook) {
  ASSIGN_OR_RETURN(const auto rollouts, txn.rollouts().List(kMeasuredRollouts));
  for (const RolloutRecord& record : rollouts) {
    if (RequestOf(record).playbook() != playbook) continue;
    std::set<std::string> changed;
    ASSIGN_OR_RETURN(const auto nodes, txn.rollouts().ListNodes(record.rollout_id));
    for (const RolloutNodeRecord& node : nodes) {
      if (node.step == v1::ROLLOUT_STEP_DONE && node.run_changed) changed.insert(node.node);
    }
    if (changed.empty()) continue;
    MeasuredUpdate measured{record.rollout_id, absl::ZeroDuration()};
    std::map<std::string, absl::Time> begun;
    ASSIGN_OR_RETURN(const auto events, ReadEvents(txn, record.rollout_id, 0));
    for (const v1::RolloutEvent& event : events) {
      if (event.step() == v1::ROLLOUT_STEP_APPLYING) begun[event.node()] = ToTime(event.time());
      if (event.step() != v1::ROLLOUT_STEP_DONE || changed.count(event.node()) == 0) continue;
      const auto from = begun.find(event.node());
      if (from != begun.end())
        measured.longest = std::max(measured.longest, ToTime(event.time()) - from->second);
    }
    return measured;
  }
  return std::nullopt;
}

}  // namespace muster::controller::rollout
