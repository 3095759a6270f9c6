#include "controller/web/event_words.h"

#include <nlohmann/json.hpp>

#include "common/value/proto_value.h"
#include "muster/v1/rollout.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller {

nlohmann::ordered_json EventJson(const v1::RunEvent& event) {
  v1::RunEvent shown = event;
  if (shown.has_step()) {
    shown.mutable_step()->clear_output();
    shown.mutable_step()->clear_changes();
  }
  if (shown.has_run_finished()) shown.mutable_run_finished()->clear_nodes();
  if (shown.has_play_started()) shown.mutable_play_started()->clear_nodes();
  if (shown.has_node_finished()) shown.mutable_node_finished()->clear_steps_digests();
  return ProtoToValue(shown);
}

nlohmann::ordered_json EventJson(const v1::RolloutEvent& event) { return ProtoToValue(event); }

nlohmann::ordered_json EventJson(const v1::ValidationEvent& event) {
  v1::ValidationEvent shown = event;
  if (shown.has_running()) shown.mutable_running()->mutable_progress()->clear_samples();
  if (shown.has_verdict()) shown.mutable_verdict()->clear_findings();
  if (shown.has_finished()) {
    shown.mutable_finished()->clear_nodes();
    shown.mutable_finished()->clear_rings();
  }
  return ProtoToValue(shown);
}

bool IsReplaced(const v1::RunEvent& event) { return event.has_progress() || event.has_step(); }
bool IsReplaced(const v1::RolloutEvent& event) { return !event.node().empty(); }
bool IsReplaced(const v1::ValidationEvent& event) {
  return event.has_running() || event.has_verdict();
}

}  // namespace muster::controller
