#include "cli/render/rollout/rollout_words.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/context.h"
#include "cli/render/report/bundle_report.h"
#include "common/base/proto_time.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"

namespace muster::cli {
namespace {

enum class StepKind { kWaiting, kActive, kFine, kFailed };

struct StepRow {
  v1::RolloutStep step;
  absl::string_view word;
  StepKind kind;
};
constexpr StepRow kSteps[] = {
    {v1::ROLLOUT_STEP_PENDING, "pending", StepKind::kWaiting},
    {v1::ROLLOUT_STEP_DRAINING, "draining", StepKind::kActive},
    {v1::ROLLOUT_STEP_REQUEUING, "requeuing", StepKind::kActive},
    {v1::ROLLOUT_STEP_APPLYING, "applying", StepKind::kActive},
    {v1::ROLLOUT_STEP_VALIDATING, "validating", StepKind::kActive},
    {v1::ROLLOUT_STEP_RESUMING, "resuming", StepKind::kActive},
    {v1::ROLLOUT_STEP_DONE, "done", StepKind::kFine},
    {v1::ROLLOUT_STEP_FAILED, "failed", StepKind::kFailed},
    {v1::ROLLOUT_STEP_QUARANTINED, "quarantined", StepKind::kFailed},
    {v1::ROLLOUT_STEP_SKIPPED, "skipped", StepKind::kFine},
};

struct StateRow {
  v1::RolloutState state;
  absl::string_view word;
  bool has_ended;
};
constexpr StateRow kStates[] = {
    {v1::ROLLOUT_STATE_ROLLING, "rolling", false},
    {v1::ROLLOUT_STATE_SOAKING, "soaking", false},
    {v1::ROLLOUT_STATE_PAUSED, "paused", false},
    {v1::ROLLOUT_STATE_ABORTING, "aborting", false},
    {v1::ROLLOUT_STATE_ROLLING_BACK, "rolling back", false},
    {v1::ROLLOUT_STATE_COMPLETED, "completed", true},
    {v1::ROLLOUT_STATE_ABORTED, "aborted", true},
    {v1::ROLLOUT_STATE_ROLLED_BACK, "rolled back", true},
};

// A step of a newer controller counts as one that has not begun.
StepRow RowOf(v1::RolloutStep step) {
  const auto row = std::find_if(std::begin(kSteps), std::end(kSteps),
                                [step](const StepRow& each) { return each.step == step; });
  return row == std::end(kSteps) ? StepRow{step, "?", StepKind::kWaiting} : *row;
}

StateRow RowOf(v1::RolloutState state) {
  const auto row = std::find_if(std::begin(kStates), std::end(kStates),
                                [state](const StateRow& each) { return each.state == state; });
  return row == std::end(kStates) ? StateRow{state, "?", false} : *row;
}

}  // namespace

absl::string_view StepWord(v1::RolloutStep step) { return RowOf(step).word; }
absl::string_view StateWord(v1::RolloutState state) { return RowOf(state).word; }

bool IsActive(v1::RolloutStep step) { return RowOf(step).kind == StepKind::kActive; }
bool IsFailure(v1::RolloutStep step) { return RowOf(step).kind == StepKind::kFailed; }
bool IsOver(v1::RolloutStep step) { return RowOf(step).kind == StepKind::kFine || IsFailure(step); }
bool HasEnded(v1::RolloutState state) { return RowOf(state).has_ended; }

std::string WaveName(const v1::CreateRolloutRequest& request, uint32_t wave) {
  if (wave > 0) return absl::StrCat("wave ", wave);
  const bool has_canary = !request.has_canary() || request.canary() > 0;
  return has_canary ? "canary" : "first wave";
}

std::string DescribeBudgets(const v1::Rollout& rollout) {
  const v1::CreateRolloutRequest& request = rollout.request();
  std::string text = absl::StrCat("at most ", Counted(rollout.max_unavailable(), "node"),
                                  " out of service at once");
  if (request.max_per_rack() > 0)
    absl::StrAppend(&text, ", ", request.max_per_rack(), " in each rack");
  if (request.max_per_switch() > 0)
    absl::StrAppend(&text, ", ", request.max_per_switch(), " behind each switch");
  absl::StrAppend(
      &text, "; ",
      request.on_failure() == v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK ? "it is rolled back"
                                                                   : "it pauses",
      request.failure_budget() == 0
          ? " when a node has failed"
          : absl::StrCat(" when more than ", request.failure_budget(), " nodes have failed"));
  return text;
}

std::string DescribeDrainLimit(const v1::CreateRolloutRequest& request) {
  if (!request.has_drain_timeout()) return "without a time limit";
  const v1::DrainTimeoutAction action = request.on_timeout();
  return absl::StrCat(HumanDuration(ToDuration(request.drain_timeout())), " for each node; then ",
                      action == v1::DRAIN_TIMEOUT_ACTION_SKIP
                          ? "it comes last, and the second time it is left out"
                      : action == v1::DRAIN_TIMEOUT_ACTION_REQUEUE
                          ? "its jobs are requeued where they can be, and the others are waited for"
                          : "it is waited for all the same");
}

std::string DescribeReboots(const v1::CreateRolloutRequest& request) {
  if (request.reboots() == v1::REBOOT_MODE_ALWAYS)
    return "each node once, also where the playbook does not ask for it";
  if (request.reboots() == v1::REBOOT_MODE_NEVER)
    return "none: nodes that have to are noted, for a later `muster node reboot`";
  return "";
}

std::string DescribeWayBack(const v1::Rollout& rollout) {
  const uint64_t revision = rollout.request().revision_before();
  return absl::StrCat("to bundle ", ShortDigest(rollout.previous_bundle_sha256()),
                      revision == 0 ? ""
                                    : absl::StrCat(", and each node to the stack that revision ",
                                                   revision, " of the inventory gave it"),
                      rollout.request().node_images().empty()
                          ? ""
                          : ", and each node that runs from its disk to the image that it ran");
}

std::string NodesIn(const v1::Rollout& rollout, bool (*is_wanted)(v1::RolloutStep)) {
  std::vector<std::string> names;
  for (const v1::RolloutNode& node : rollout.nodes())
    if (is_wanted(node.step())) names.push_back(node.node());
  return names.empty() ? "" : FoldHostlist(std::move(names));
}

std::vector<SlurmJob> ToSlurmJobs(
    const google::protobuf::RepeatedPtrField<v1::SlurmJobInfo>& jobs) {
  std::vector<SlurmJob> out;
  for (const v1::SlurmJobInfo& job : jobs) {
    out.push_back({job.id(), job.user(), job.name()});
    if (job.has_seconds_left())
      out.back().time_left = absl::Seconds(static_cast<double>(job.seconds_left()));
  }
  return out;
}

int RolloutExitCode(const v1::Rollout& rollout) {
  const bool all_done =
      std::all_of(rollout.nodes().begin(), rollout.nodes().end(),
                  [](const v1::RolloutNode& node) { return node.step() == v1::ROLLOUT_STEP_DONE; });
  return rollout.state() == v1::ROLLOUT_STATE_COMPLETED && all_done ? kExitClean : kExitFailed;
}

}  // namespace muster::cli
