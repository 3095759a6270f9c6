#include "controller/run/plan/held_plan.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/run/plan/plan_finish.h"
#include "muster/v1/plan.pb.h"
#include "muster/v1/plan_file.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

// How to make a new one of that kind.
constexpr char kPlanAgain[] = "; make a new plan with `muster plan`";
constexpr char kPlanRolloutAgain[] = "; make a new plan with `muster update PLAYBOOK --plan --out`";

const char* Remedy(bool of_rollout) { return of_rollout ? kPlanRolloutAgain : kPlanAgain; }

std::string Local(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

// The step, without what its digest must not reveal.
v1::Step Open(const v1::Step& step) {
  v1::Step open = step;
  // The boot at the time says nothing about the step.
  if (open.has_last_reboot()) open.mutable_last_reboot()->clear_boot_id();
  if (!step.sensitive()) return open;
  if (open.has_file()) {
    open.mutable_file()->clear_content();
    open.mutable_file()->clear_blob_sha256();
    open.mutable_file()->clear_blob_size();
  } else {
    open.clear_resource();
  }
  return open;
}

}  // namespace

absl::Status CheckHolds(const v1::PlanFile& file, const ClusterIdentity& cluster,
                        uint64_t inventory_revision, absl::Time now) {
  const char* again = Remedy(file.has_rollout());
  if (file.cluster() != cluster.name || file.ca_pin() != cluster.ca_pin) {
    return absl::FailedPreconditionError(
        absl::StrCat("the plan was made for cluster ", file.cluster(), ", and this is ",
                     file.cluster() != cluster.name
                         ? cluster.name
                         : absl::StrCat("another cluster of that name, with another authority"),
                     again));
  }
  if (now >= ToTime(file.expires_at())) {
    return absl::FailedPreconditionError(
        absl::StrCat("the plan was made at ", Local(ToTime(file.created_at())),
                     " and has expired at ", Local(ToTime(file.expires_at())), again));
  }
  if (file.inventory_revision() != inventory_revision) {
    return absl::FailedPreconditionError(
        absl::StrCat("the plan was made from revision ", file.inventory_revision(),
                     " of the inventory, which is now at ", inventory_revision, " now", again));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::CreateRunRequest> RequestOfPlanFile(const v1::PlanFile& file,
                                                       const v1::CreateRunRequest& request) {
  if (!request.bundle_sha256().empty() || !request.playbook().empty() || request.tags_size() > 0 ||
      request.extra_vars_size() > 0 || request.reboot_with_jobs() ||
      request.reboots() != v1::REBOOT_MODE_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        "a run of a plan file takes bundle, playbook, tags, variables and what to reboot from the "
        "file");
  }
  v1::CreateRunRequest full = request;
  full.set_bundle_sha256(file.bundle_sha256());
  full.set_playbook(file.playbook());
  *full.mutable_tags() = file.tags();
  *full.mutable_extra_vars() = file.extra_vars();
  full.set_reboot_with_jobs(file.reboot_with_jobs());
  full.set_reboots(file.rollout().rollout().request().reboots());
  return full;
}

std::string StepsDigest(const v1::Plan& plan) {
  Sha256 digest;
  const auto add = [&](const v1::Step& step) {
    const std::string bytes = SerializeDeterministically(Open(step));
    digest.Update(absl::StrCat("step ", bytes.size(), "\n"));
    digest.Update(bytes);
  };
  for (const v1::RolePlan& role : plan.roles()) {
    digest.Update(absl::StrCat("role ", role.name(), "\n"));
    for (const std::string& need : role.needs()) digest.Update(absl::StrCat("needs ", need, "\n"));
    for (const v1::Step& step : role.steps()) add(step);
    digest.Update("handlers\n");
    for (const v1::Step& handler : role.handlers()) add(handler);
  }
  // Half of the digest is enough to tell plans apart; it is kept for each node and play.
  return digest.FinishHex().substr(0, 32);
}

absl::StatusOr<std::shared_ptr<const HeldPlan>> HeldPlan::Create(const v1::PlanFile& file) {
  std::shared_ptr<HeldPlan> held(new HeldPlan);
  held->of_rollout_ = file.has_rollout();
  for (const v1::PlannedPlay& planned : file.plays()) {
    Play& play = held->plays_[planned.play_index()];
    for (const v1::PlannedNodes& nodes : planned.nodes()) {
      ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(nodes.nodes()));
      for (const std::string& name : names) play.digests[name] = nodes.steps_digest();
    }
    for (const v1::PlannedStep& step : planned.steps()) {
      for (const v1::PlannedOutcome& outcome : step.outcomes()) {
        if (outcome.status() != v1::STEP_STATUS_CHANGED) continue;
        ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(outcome.nodes()));
        play.would_act[step.step_id()].insert(names.begin(), names.end());
        if (absl::StartsWith(outcome.resource(), "package"))
          held->changes_packages_.insert(names.begin(), names.end());
      }
    }
  }
  return std::shared_ptr<const HeldPlan>(std::move(held));
}

bool HeldPlan::Has(uint32_t play, const std::string& node) const {
  const auto found = plays_.find(play);
  return found != plays_.end() && found->second.digests.count(node) > 0;
}

absl::Status HeldPlan::Hold(uint32_t play, const std::string& node, const std::string& steps_digest,
                            v1::Plan& plan) const {
  if (!Has(play, node)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the plan file does not contain this play for this node", Remedy(of_rollout_)));
  }
  const Play& planned = plays_.at(play);
  if (planned.digests.at(node) != steps_digest) {
    return absl::FailedPreconditionError(
        absl::StrCat("the steps of this play differ from the plan file because facts have changed; "
                     "nothing was changed here",
                     Remedy(of_rollout_)));
  }
  for (v1::RolePlan& role : *plan.mutable_roles()) {
    for (auto* steps : {role.mutable_steps(), role.mutable_handlers()}) {
      for (v1::Step& step : *steps) {
        const auto act = planned.would_act.find(step.step_id());
        // Whether new packages ask for a reboot is known when they are there: a plan says
        // "perhaps".
        const bool may_reboot = step.has_reboot() && changes_packages_.count(node) > 0;
        const bool is_planned = act != planned.would_act.end() && act->second.count(node) > 0;
        if (is_planned && !step.reboot().image().empty()) {
          return absl::FailedPreconditionError(
              absl::StrCat("the plan moves the node to image ", step.reboot().image(),
                           ", and what later plays find in another root cannot be planned; "
                           "nothing was changed here: ",
                           of_rollout_ ? "`muster update PLAYBOOK`" : "`muster apply PLAYBOOK`",
                           " without a plan file does it"));
        }
        step.set_expect_unchanged(!may_reboot && !is_planned);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::controller
