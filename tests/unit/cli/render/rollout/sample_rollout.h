// A rollout of six nodes, in the middle of its second wave.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {

inline const absl::Time kRolloutStart = absl::FromUnixSeconds(1'700'000'000);

inline v1::RolloutNode& SetStep(v1::Rollout& rollout, int place, v1::RolloutStep step,
                                int minutes_after_start, const std::string& message = "") {
  v1::RolloutNode& node = *rollout.mutable_nodes(place);
  node.set_step(step);
  node.set_message(message);
  *node.mutable_since() = ToTimestamp(kRolloutStart + absl::Minutes(minutes_after_start));
  return node;
}

inline v1::RolloutEvent& AddEvent(v1::Rollout& rollout, int minutes_after_start,
                                  const std::string& message) {
  v1::RolloutEvent& event = *rollout.add_events();
  event.set_sequence(static_cast<uint64_t>(rollout.events_size()));
  *event.mutable_time() = ToTimestamp(kRolloutStart + absl::Minutes(minutes_after_start));
  event.set_message(message);
  return event;
}

inline void AddStep(v1::Rollout& rollout, int minutes_after_start, const std::string& node,
                    v1::RolloutStep step, const std::string& message = "") {
  v1::RolloutEvent& event = AddEvent(rollout, minutes_after_start, message);
  event.set_node(node);
  event.set_step(step);
}

inline void AddState(v1::Rollout& rollout, int minutes_after_start, v1::RolloutState state,
                     uint32_t wave, const std::string& message = "") {
  v1::RolloutEvent& event = AddEvent(rollout, minutes_after_start, message);
  event.set_state(state);
  event.set_wave(wave);
}

inline v1::Rollout SampleRollout() {
  v1::Rollout rollout;
  rollout.set_rollout_id("u-7k3m9q2x");
  rollout.set_created_by("admin:ann");
  *rollout.mutable_created_at() = ToTimestamp(kRolloutStart);
  rollout.set_state(v1::ROLLOUT_STATE_ROLLING);
  rollout.set_wave(1);
  for (const uint32_t size : {1, 4, 6}) rollout.add_wave_sizes(size);
  rollout.set_max_unavailable(2);
  rollout.set_previous_bundle_sha256("94c41c17b0aa9999");
  rollout.set_left_out("login1");
  v1::CreateRolloutRequest& request = *rollout.mutable_request();
  request.set_playbook("playbooks/site.yaml");
  request.set_bundle_sha256("3c9fd11a7e029999");
  request.set_suite("acceptance");
  request.set_canary(1);
  for (int number = 1; number <= 6; ++number) {
    v1::RolloutNode& node = *rollout.add_nodes();
    node.set_node(absl::StrCat("c00", number));
    node.set_step(v1::ROLLOUT_STEP_PENDING);
  }
  SetStep(rollout, 0, v1::ROLLOUT_STEP_DONE, 10).set_run_id("r-11111111");
  SetStep(rollout, 1, v1::ROLLOUT_STEP_DRAINING, 12, "waits for job 4711 (ann, train)");
  SetStep(rollout, 2, v1::ROLLOUT_STEP_DRAINING, 14, "waits for job 4711 (ann, train)");
  SetStep(rollout, 3, v1::ROLLOUT_STEP_QUARANTINED, 30, "2 GPUs are missing")
      .set_validation_id("v-22222222");
  AddState(rollout, 0, v1::ROLLOUT_STATE_ROLLING, 0);
  AddStep(rollout, 0, "c001", v1::ROLLOUT_STEP_DRAINING);
  AddStep(rollout, 1, "c001", v1::ROLLOUT_STEP_APPLYING, "run r-11111111");
  AddStep(rollout, 10, "c001", v1::ROLLOUT_STEP_DONE);
  AddState(rollout, 11, v1::ROLLOUT_STATE_ROLLING, 1);
  AddStep(rollout, 12, "c002", v1::ROLLOUT_STEP_DRAINING);
  AddStep(rollout, 12, "c002", v1::ROLLOUT_STEP_DRAINING, "waits for job 4711 (ann, train)");
  AddStep(rollout, 14, "c003", v1::ROLLOUT_STEP_DRAINING, "waits for job 4711 (ann, train)");
  AddStep(rollout, 30, "c004", v1::ROLLOUT_STEP_QUARANTINED, "2 GPUs are missing");
  return rollout;
}

}  // namespace muster::cli
