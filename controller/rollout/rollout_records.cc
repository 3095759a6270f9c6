#include "controller/rollout/rollout_records.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/store/store.h"

namespace muster::controller::rollout {

v1::CreateRolloutRequest RequestOf(const RolloutRecord& record) {
  v1::CreateRolloutRequest request;
  request.ParseFromString(record.request);
  return request;
}

v1::RolloutNode ToProto(const RolloutNodeRecord& node) {
  v1::RolloutNode proto;
  proto.set_node(node.node);
  proto.set_step(static_cast<v1::RolloutStep>(node.step));
  *proto.mutable_since() = ToTimestamp(node.since);
  proto.set_message(node.message);
  proto.set_run_id(node.run_id);
  proto.set_validation_id(node.validation_id);
  proto.set_service_before(node.service_before);
  proto.set_passed_over(node.passed_over);
  return proto;
}

v1::Rollout ToProto(const RolloutRecord& record, const std::vector<RolloutNodeRecord>& nodes,
                    const Limits& limits) {
  v1::Rollout proto;
  proto.set_rollout_id(record.rollout_id);
  *proto.mutable_request() = RequestOf(record);
  proto.set_state(static_cast<v1::RolloutState>(record.state));
  proto.set_message(record.message);
  proto.set_created_by(record.created_by);
  *proto.mutable_created_at() = ToTimestamp(record.created_at);
  if (record.finished_at.has_value())
    *proto.mutable_finished_at() = ToTimestamp(*record.finished_at);
  proto.set_wave(record.wave);
  proto.mutable_wave_sizes()->Assign(limits.wave_sizes.begin(), limits.wave_sizes.end());
  proto.set_max_unavailable(limits.max_unavailable);
  proto.set_inventory_revision(record.inventory_revision);
  proto.set_previous_bundle_sha256(record.previous_bundle);
  proto.set_rolled_back_by(record.rolled_back_by);
  proto.set_left_out(record.left_out);
  for (const RolloutNodeRecord& node : nodes) *proto.add_nodes() = ToProto(node);
  return proto;
}

absl::StatusOr<std::vector<v1::RolloutEvent>> ReadEvents(Transaction& txn,
                                                         absl::string_view rollout_id,
                                                         uint64_t after_sequence) {
  std::vector<v1::RolloutEvent> events;
  ASSIGN_OR_RETURN(const auto rows, txn.rollouts().ListEvents(rollout_id, after_sequence));
  for (const RolloutEventRecord& row : rows) {
    if (!events.emplace_back().ParseFromString(row.event)) {
      return absl::DataLossError(absl::StrCat("event ", row.sequence, " of rollout ", rollout_id,
                                              " is damaged in the store"));
    }
  }
  return events;
}

absl::StatusOr<v1::Rollout> ReadRollout(Transaction& txn, absl::string_view rollout_id,
                                        bool with_events) {
  ASSIGN_OR_RETURN(const RolloutRecord record, txn.rollouts().Get(rollout_id));
  ASSIGN_OR_RETURN(const auto nodes, txn.rollouts().ListNodes(rollout_id));
  // The words were checked when the rollout was created.
  const auto limits = ResolveLimits(RequestOf(record), static_cast<uint32_t>(nodes.size()));
  v1::Rollout proto = ToProto(record, nodes, limits.ok() ? *limits : Limits());
  ASSIGN_OR_RETURN(const auto pending, txn.reboots().ListPending());
  std::map<std::pair<std::string, std::string>, const std::string*> reasons;  // by node and run
  for (const PendingRebootRecord& reboot : pending)
    reasons[{reboot.node_uuid, reboot.run_id}] = &reboot.reason;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto found = reasons.find({nodes[i].node_uuid, nodes[i].run_id});
    if (found != reasons.end())
      proto.mutable_nodes(static_cast<int>(i))->set_reboot_pending(*found->second);
  }
  if (!with_events) return proto;
  ASSIGN_OR_RETURN(auto events, ReadEvents(txn, rollout_id, 0));
  for (v1::RolloutEvent& event : events) *proto.add_events() = std::move(event);
  return proto;
}

}  // namespace muster::controller::rollout
