#include "controller/rollout/forecast.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/rollout/measured_update.h"
#include "controller/rollout/plan/estimate.h"
#include "controller/rollout/rollout_records.h"
#include "controller/store/store.h"

namespace muster::controller::rollout {
namespace {

absl::StatusOr<v1::RolloutEstimate> EstimateOf(Store& store, const ActiveRollout& rollout,
                                               const RolloutView& view) {
  std::optional<MeasuredUpdate> measured;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(measured, MeasureUpdate(txn, rollout.request.playbook()));
    return absl::OkStatus();
  }));
  v1::RolloutEstimate proto;
  if (measured.has_value()) {
    *proto.mutable_node_update() = ToProtoDuration(measured->longest);
    proto.set_measured_in(measured->rollout_id);
  }
  const Estimate estimate =
      EstimateRollout(view, measured.has_value() ? measured->longest : absl::ZeroDuration());
  if (estimate.total < absl::InfiniteDuration())
    *proto.mutable_total() = ToProtoDuration(estimate.total);
  proto.set_endless(estimate.endless);
  proto.set_left_out(estimate.left_out);
  return proto;
}

v1::SlurmJobInfo ToInfo(const SlurmJob& job) {
  v1::SlurmJobInfo info;
  info.set_id(job.id);
  info.set_user(job.user);
  info.set_name(job.name);
  if (job.time_left < absl::InfiniteDuration())
    info.set_seconds_left(absl::ToInt64Seconds(job.time_left));
  return info;
}

}  // namespace

absl::StatusOr<v1::PreviewRolloutResponse> ForecastOf(Store& store, const ActiveRollout& rollout,
                                                      const Observation& seen,
                                                      const RolloutView& view) {
  v1::PreviewRolloutResponse response;
  *response.mutable_rollout() = ToProto(rollout.record, rollout.nodes, rollout.limits);
  response.set_jobs_unknown(seen.trouble);
  std::map<std::string, const NodeView*> nodes;
  for (const NodeView& node : view.nodes) nodes[node.name] = &node;
  absl::Duration longest = absl::ZeroDuration();
  for (const Place& place : ForecastOrder(view)) {
    const NodeView& node = *nodes.at(place.node);
    v1::RolloutForecast& forecast = *response.add_nodes();
    forecast.set_node(place.node);
    forecast.set_wave(place.wave);
    forecast.set_service(node.service);
    forecast.set_connected(node.is_connected);
    for (const SlurmJob& job : node.jobs) *forecast.add_jobs() = ToInfo(job);
    const absl::Duration drain = LongestDrain(node.jobs);
    longest = std::max(longest, drain);
    if (drain < absl::InfiniteDuration() && seen.trouble.empty())
      *forecast.mutable_drain() = ToProtoDuration(drain);
  }
  if (!seen.trouble.empty()) return response;
  if (longest < absl::InfiniteDuration())
    *response.mutable_longest_drain() = ToProtoDuration(longest);
  ASSIGN_OR_RETURN(*response.mutable_estimate(), EstimateOf(store, rollout, view));
  return response;
}

}  // namespace muster::controller::rollout
