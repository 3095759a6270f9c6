#include "controller/rollout/plan/update_policy_plan.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "controller/rollout/plan/rollout_step.h"

namespace muster::controller::rollout {
namespace {

// Enough to tell bundles apart, as `muster bundle list` shows them.
constexpr size_t kShownDigits = 12;

std::string Short(const std::string& bundle) { return bundle.substr(0, kShownDigits); }

PolicyDecision Say(v1::UpdatePolicyState state, std::string message) {
  return {state, std::move(message), /*starts=*/false};
}

bool IsAccepted(const PolicyView& view) {
  return view.accepted.has_value() && view.accepted->revoked_by.empty();
}

// "bundle 0123456789ab, accepted by admin:ann, with revision 7 of the inventory"
std::string TargetText(const PolicyView& view) {
  return absl::StrCat("bundle ", Short(view.accepted->bundle), ", accepted by ", view.accepted->by,
                      ", with revision ", view.revision, " of the inventory");
}

PolicyDecision NothingToApply(const PolicyView& view) {
  const std::string why =
      view.accepted.has_value()
          ? absl::StrCat(view.accepted->revoked_by, " has revoked bundle ",
                         Short(view.accepted->bundle), ", the last that was accepted for ",
                         view.playbook)
          : absl::StrCat("no administrator has accepted a bundle with ", view.playbook);
  return Say(v1::UPDATE_POLICY_STATE_STOPPED,
             absl::StrCat(why, "; approve one (muster bundle approve SITE --only ", view.playbook,
                          "), or apply it to all of these nodes"));
}

// The policy's rollout has not ended.
PolicyDecision InProgress(const PolicyView& view, const PolicyPair& target) {
  const PolicyView::Attempt& last = *view.last;
  const bool is_newest = !IsAccepted(view) || last.pair == target;
  const std::string next = is_newest ? "" : absl::StrCat("; then ", TargetText(view));
  if (last.state != v1::ROLLOUT_STATE_PAUSED) {
    return Say(v1::UPDATE_POLICY_STATE_RUNNING, absl::StrCat(StateName(last.state), next));
  }
  return Say(v1::UPDATE_POLICY_STATE_STOPPED,
             absl::StrCat(last.rollout_id, " is paused", last.message.empty() ? "" : ": ",
                          last.message, "; continue it (muster rollout resume ", last.rollout_id,
                          ") or end it (muster rollout abort ", last.rollout_id, ")", next));
}

PolicyDecision GivenUp(const PolicyView& view) {
  const PolicyView::Attempt& last = *view.last;
  return Say(
      v1::UPDATE_POLICY_STATE_STOPPED,
      absl::StrCat(last.rollout_id, " was ", StateName(last.state),
                   last.message.empty() ? "" : absl::StrCat(" (", last.message, ")"),
                   "; the next bundle or inventory starts another; or let this one be tried again "
                   "(muster bundle approve ",
                   Short(last.pair.bundle), "), or start it by hand (muster update ", view.playbook,
                   ")"));
}

// Nothing but circumstances keeps the policy from starting.
PolicyDecision StartWhenPossible(const PolicyView& view, const PolicyPair& target) {
  if (!IsOpen(view.windows, view.now, view.zone)) {
    return Say(v1::UPDATE_POLICY_STATE_PENDING,
               absl::StrCat(TargetText(view), ": waits for the window, which opens on ",
                            MomentText(NextOpening(view.windows, view.now, view.zone), view.now,
                                       view.zone)));
  }
  if (!view.others.empty()) {
    const PolicyView::Other& other = view.others.front();
    return Say(v1::UPDATE_POLICY_STATE_WAITING,
               absl::StrCat(TargetText(view), ": waits for rollout ", other.rollout_id, " of ",
                            other.created_by, " over the same nodes (muster rollout show ",
                            other.rollout_id, ")"));
  }
  const std::optional<PolicyView::Refusal>& refused = view.refused;
  if (refused.has_value() && refused->pair == target && view.now < refused->retry_at) {
    return Say(
        refused->may_pass ? v1::UPDATE_POLICY_STATE_WAITING : v1::UPDATE_POLICY_STATE_STOPPED,
        absl::StrCat(TargetText(view), ", cannot start: ", refused->message));
  }
  PolicyDecision start =
      Say(v1::UPDATE_POLICY_STATE_WAITING, absl::StrCat(TargetText(view), ": about to start"));
  start.starts = true;
  return start;
}

}  // namespace

PolicyDecision DecidePolicy(const PolicyView& view) {
  const PolicyPair target{view.accepted.has_value() ? view.accepted->bundle : "", view.content};
  const bool was_tried = view.last.has_value();
  if (was_tried && !view.last->finished_at.has_value()) return InProgress(view, target);
  if (!IsAccepted(view)) return NothingToApply(view);
  const bool is_same = was_tried && view.last->pair == target;
  // It completes with a reason where too many nodes failed, or none was updated.
  const bool is_done =
      is_same && view.last->state == v1::ROLLOUT_STATE_COMPLETED && view.last->message.empty();
  if (is_done) {
    return Say(v1::UPDATE_POLICY_STATE_UP_TO_DATE,
               absl::StrCat(TargetText(view), ": done by ", view.last->rollout_id));
  }
  const bool is_applied = view.applied.has_value() && view.applied->pair == target &&
                          (!was_tried || view.applied->finished_at > view.last->created_at);
  if (is_applied) {
    return Say(v1::UPDATE_POLICY_STATE_UP_TO_DATE,
               absl::StrCat(TargetText(view), ": done by ", view.applied->id));
  }
  if (is_same && view.accepted->at <= *view.last->finished_at) return GivenUp(view);
  return StartWhenPossible(view, target);
}

}  // namespace muster::controller::rollout
