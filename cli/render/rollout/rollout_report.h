// Rollouts as text for a terminal. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class CreateRolloutRequest;
class ExplainRolloutNodeResponse;
class ListRolloutsResponse;
class Rollout;
class RolloutEvent;
}  // namespace muster::v1

namespace muster::cli {

// A row for each rollout.
std::string RenderRollouts(const v1::ListRolloutsResponse& response, absl::Time now);

// The head, the progress of each wave, a row for nodes in the same step with the same message, then
// the failures with the commands that show more of them.
std::string RenderRollout(const v1::Rollout& rollout, absl::Time now);

// "c002: draining: waits for job 4711 (ann, train)", "wave 1: soaking", "paused: 2 nodes have
// failed"; with a newline.
std::string RenderRolloutEvent(const v1::CreateRolloutRequest& request,
                               const v1::RolloutEvent& event);
// All events, with their times.
std::string RenderTimeline(const v1::Rollout& rollout, absl::TimeZone zone);

// "canary: 1 of 1, wave 1: 2 of 3, wave 2: 0 of 12"; waves are complete one after the other, so the
// number of nodes that are over tells.
std::string WaveProgress(const v1::Rollout& rollout);

// The state after somebody has changed it, with the nodes that are still being updated and the
// command that comes next.
std::string RenderChange(const v1::Rollout& rollout);

// What to do about a paused rollout, or what follows one that is rolled back; "": nothing.
std::string NextCommands(const v1::Rollout& rollout);

std::string RenderExplanation(const v1::ExplainRolloutNodeResponse& response, absl::Time now);

}  // namespace muster::cli
