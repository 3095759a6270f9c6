// Conversions between a rollout's rows and its protobuf.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/rollout/plan/limits.h"
#include "controller/store/tables.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller {
class Transaction;
}

namespace muster::controller::rollout {

v1::CreateRolloutRequest RequestOf(const RolloutRecord& record);
v1::RolloutNode ToProto(const RolloutNodeRecord& node);
// Without events.
v1::Rollout ToProto(const RolloutRecord& record, const std::vector<RolloutNodeRecord>& nodes,
                    const Limits& limits);
// As it is in the store. NotFound: there is none.
absl::StatusOr<v1::Rollout> ReadRollout(Transaction& txn, absl::string_view rollout_id,
                                        bool with_events);
// Those of a rollout above the sequence.
absl::StatusOr<std::vector<v1::RolloutEvent>> ReadEvents(Transaction& txn,
                                                         absl::string_view rollout_id,
                                                         uint64_t after_sequence);

}  // namespace muster::controller::rollout
