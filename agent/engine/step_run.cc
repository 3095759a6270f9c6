#include "agent/engine/step_run.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "agent/engine/reboot_run.h"
#include "agent/engine/restart_need.h"
#include "agent/engine/step_report.h"
#include "agent/resources/resource.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/utf8.h"

namespace muster::agent {
namespace {

// Whether no package may change during the step.
bool NeedsPackagesAlone(const v1::Step& step) {
  return step.has_package_repository() || step.has_package_upgrade();
}

// Adjacent steps are looked at early only if that may save a transaction.
bool MayShareOneGo(const v1::Step& a, const v1::Step& b) {
  return a.has_package() && b.has_package();
}

class StepObserver final : public ApplyObserver {
 public:
  StepObserver(PlanContext& context, const v1::RolePlan& role, const v1::Step& step)
      : context_(context), role_(role), step_(step) {}

  void OnActivity(absl::string_view activity, std::optional<float> percent) override {
    context_.progress().Show(role_.name(), step_, activity, percent);
  }
  void OnOutput(absl::string_view text) override {
    if (!step_.sensitive()) output_.Append(text);
  }
  bool IsStopping() const override { return context_.stopping(); }
  bool IsContinued() const override { return context_.CutOff(step_.step_id()) != nullptr; }
  std::string TakeOutput() { return output_.Take(); }

 private:
  PlanContext& context_;
  const v1::RolePlan& role_;
  const v1::Step& step_;
  OutputTail output_;
};

// The output of the programs of its check, cut as all output is.
std::string PrintedByCheck(const Resource* resource) {
  const auto* printing = dynamic_cast<const PrintingCheck*>(resource);
  if (printing == nullptr) return "";
  OutputTail tail;
  tail.Append(printing->check_output());
  return tail.Take();
}

// Why its check found that the node has to reboot, as far as the rules for messages allow. "": it
// did not.
std::string WhyReboot(const Resource* resource) {
  const auto* finding = dynamic_cast<const RebootFinding*>(resource);
  return finding == nullptr ? "" : ValidUtf8(finding->why_reboot(), kMaxReasonBytes);
}

// A step on its way from the first check to its outcome.
struct Member {
  const v1::Step* step = nullptr;
  std::unique_ptr<Resource> resource;
  std::vector<Change> found;
  absl::Time started;
};

// The run of one step, or of adjacent steps in one transaction.
class StepRun {
 public:
  // The first step's outcome. nullopt: the agent is stopping, and a step is left open.
  using End = std::optional<v1::StepStatus>;

  StepRun(PlanContext& context, const v1::RolePlan& role, bool handler)
      : context_(context), role_(role), handler_(handler) {}

  absl::StatusOr<End> Run(const std::vector<const v1::Step*>& steps);

 private:
  // Makes the resource and checks it.
  absl::Status Look(const v1::Step& step, Member& member);
  // Records the outcome `status`, and returns it. `is_done`: a handler that failed has nevertheless
  // done what it was notified for, and is clean.
  absl::StatusOr<v1::StepStatus> Settle(const Member& member, v1::StepStatus status,
                                        const absl::Status& error, std::string output,
                                        bool is_done = false);
  absl::StatusOr<v1::StepStatus> SettleInSync(const Member& member);
  absl::StatusOr<v1::StepStatus> SettleCheckMode(Member& member, const absl::Status& checked);
  absl::StatusOr<End> Apply(std::vector<Member> go);
  absl::Status RecordIntent(const Member& member);
  absl::StatusOr<End> Reboot(Member member);
  absl::StatusOr<End> SettleRebooted(const v1::Step& step, const v1::RebootArmed& armed);
  void Absorb(const std::vector<const v1::Step*>& steps, std::vector<Member>& go);

  PlanContext& context_;
  const v1::RolePlan& role_;
  const bool handler_;
};

absl::Status StepRun::Look(const v1::Step& step, Member& member) {
  member.step = &step;
  member.started = context_.clock().Now();
  context_.progress().Show(role_.name(), step, "checking", std::nullopt);
  ASSIGN_OR_RETURN(member.resource, context_.factory()(step, context_.plan().want_diff()));
  ASSIGN_OR_RETURN(member.found, member.resource->Check());
  return absl::OkStatus();
}

absl::StatusOr<v1::StepStatus> StepRun::Settle(const Member& member, v1::StepStatus status,
                                               const absl::Status& error, std::string output,
                                               bool is_done) {
  const v1::Step& step = *member.step;
  v1::StepResult result = NewResult(role_, step, handler_, status);
  // If an earlier life began the step, its first findings are in the intent.
  const v1::StepIntent* intent = context_.CutOff(step.step_id());
  if (intent != nullptr) {
    *result.mutable_changes() = intent->changes();
  } else {
    for (v1::Change& change : ReportedChanges(step, member.found, context_.plan().want_diff())) {
      *result.add_changes() = std::move(change);
    }
  }
  if (!error.ok()) result.set_message(ReportedError(step, error));
  if (member.resource != nullptr) result.set_resource(ReportedResource(step, *member.resource));
  if (!step.sensitive()) result.set_output(std::move(output));
  if (const std::string why = WhyReboot(member.resource.get()); !why.empty()) {
    result.mutable_reboot_pending()->set_reason(why);
    result.mutable_reboot_pending()->set_boot_id(context_.reboots().boot_id);
  }
  *result.mutable_started_at() = ToTimestamp(member.started);
  *result.mutable_elapsed() =
      ToProtoDuration(std::max(absl::ZeroDuration(), context_.clock().Now() - member.started));

  const bool succeeded = status == v1::STEP_STATUS_OK || status == v1::STEP_STATUS_CHANGED;
  const bool cleans = handler_ && (succeeded || is_done) && !context_.plan().check_only();
  // Anything that can be checked again may be lost in a power cut; an act that cannot may not.
  const bool once_only = status == v1::STEP_STATUS_CHANGED && member.resource != nullptr &&
                         member.resource->AlwaysChanges();
  RETURN_IF_ERROR(
      context_.Record(result, cleans ? step.step_id() : std::string(),
                      once_only ? Journal::Durability::kDurable : Journal::Durability::kLazy));
  return status;
}

absl::StatusOr<v1::StepStatus> StepRun::SettleInSync(const Member& member) {
  const bool cut_off = context_.CutOff(member.step->step_id()) != nullptr;
  return Settle(member, cut_off ? v1::STEP_STATUS_CHANGED : v1::STEP_STATUS_OK, absl::OkStatus(),
                PrintedByCheck(member.resource.get()));
}

absl::StatusOr<v1::StepStatus> StepRun::SettleCheckMode(Member& member,
                                                        const absl::Status& checked) {
  const absl::Status foreseen = checked.ok() ? member.resource->Foresee(member.found) : checked;
  if (!foreseen.ok()) {
    const std::string after = context_.WouldChangeBefore(role_, foreseen);
    if (!absl::IsFailedPrecondition(foreseen) || after.empty()) {
      member.found.clear();
      return Settle(member, v1::STEP_STATUS_FAILED, foreseen, "");
    }
    // An earlier step would perhaps have provided the missing part; earlier findings stand.
    if (!checked.ok())
      member.found = {{.field = "state", .after = absl::StrCat("will change (after ", after, ")")}};
  }
  context_.WouldChange(*member.step);
  return Settle(member, v1::STEP_STATUS_CHANGED, absl::OkStatus(), "");
}

void StepRun::Absorb(const std::vector<const v1::Step*>& steps, std::vector<Member>& go) {
  for (size_t i = 1; i < steps.size(); ++i) {
    const v1::Step& step = *steps[i];
    if (!MayShareOneGo(*steps[0], step) || !step.skip_reason().empty() ||
        context_.Outcome(step.step_id()).has_value()) {
      return;
    }
    Member next;
    // An error belongs to that step, and occurs again in its turn.
    if (!Look(step, next).ok()) return;
    // In sync: its turn comes after the transaction, which may change that.
    if (next.found.empty()) continue;
    if (step.expect_unchanged()) return;
    if (!go.front().resource->Absorb(*next.resource)) return;
    go.push_back(std::move(next));
  }
}

absl::StatusOr<StepRun::End> StepRun::SettleRebooted(const v1::Step& step,
                                                     const v1::RebootArmed& armed) {
  Member member;
  const absl::Status checked = Look(step, member);
  StepObserver observer(context_, role_, step);
  // Into another image: drivers and mounts are what the plays behind it make.
  const bool is_same_system = step.reboot().image().empty();
  const std::optional<absl::Status> back =
      AwaitInventory(context_, is_same_system ? armed : v1::RebootArmed(), observer);
  if (!back.has_value()) return std::nullopt;
  if (!back->ok()) return Settle(member, v1::STEP_STATUS_FAILED, *back, "", /*is_done=*/true);
  absl::Status end = checked;
  if (checked.ok() && !member.found.empty() && !member.resource->AlwaysChanges()) {
    // Another reboot would not end differently, and the next apply would try it again.
    end = absl::FailedPreconditionError(
        absl::StrCat("the node has rebooted, but still: ", member.found.front().after,
                     is_same_system ? "; does the boot loader start the right kernel?"
                                    : "; `muster boot show` says how far the image came"));
  }
  return Settle(member, end.ok() ? v1::STEP_STATUS_CHANGED : v1::STEP_STATUS_FAILED, end, "");
}

absl::StatusOr<StepRun::End> StepRun::Reboot(Member member) {
  RETURN_IF_ERROR(RecordIntent(member));
  StepObserver observer(context_, role_, *member.step);
  ASSIGN_OR_RETURN(const RebootEnd end, RebootNode(context_, role_, *member.step, *member.resource,
                                                   member.found.front().after, observer));
  if (!end.has_value()) return std::nullopt;
  return Settle(member, v1::STEP_STATUS_FAILED, *end, "");
}

absl::StatusOr<StepRun::End> StepRun::Run(const std::vector<const v1::Step*>& steps) {
  const v1::RebootArmed* armed = context_.Armed(steps[0]->step_id());
  // The same boot as before: something other than the reboot stopped the agent, and the step asks
  // again.
  if (armed != nullptr && armed->boot_id() != context_.reboots().boot_id)
    return SettleRebooted(*steps[0], *armed);
  const bool may_reboot =
      (steps[0]->has_reboot() || steps[0]->has_last_reboot()) && !context_.plan().check_only();
  // The agent ends in it: no other step is cut off.
  const bool alone = steps[0]->has_agent() && !context_.plan().check_only();
  if (alone && !context_.barrier().BeginReboot()) return std::nullopt;
  if (!alone && !may_reboot && !context_.barrier().EnterStep()) return std::nullopt;
  const absl::Cleanup leave = [&] {
    if (alone) context_.barrier().EndReboot();
    if (!alone && !may_reboot) context_.barrier().LeaveStep();
  };
  Member first;
  const absl::Status checked = Look(*steps[0], first);
  if (checked.ok() && first.found.empty()) return SettleInSync(first);
  if (context_.plan().check_only()) return SettleCheckMode(first, checked);
  if (!checked.ok()) {
    if (context_.stopping()) return std::nullopt;
    return Settle(first, v1::STEP_STATUS_FAILED, checked, PrintedByCheck(first.resource.get()));
  }
  if (steps[0]->expect_unchanged()) {
    return Settle(first, v1::STEP_STATUS_FAILED,
                  NotAsPlanned(*steps[0], *first.resource, first.found), "");
  }
  if (may_reboot) return Reboot(std::move(first));
  std::vector<Member> go;
  go.push_back(std::move(first));
  Absorb(steps, go);
  return Apply(std::move(go));
}

absl::Status StepRun::RecordIntent(const Member& member) {
  v1::StepIntent intent;
  intent.set_plan_id(context_.plan().plan_id());
  intent.set_step_id(member.step->step_id());
  for (v1::Change& change :
       ReportedChanges(*member.step, member.found, context_.plan().want_diff())) {
    *intent.add_changes() = std::move(change);
  }
  for (const std::string& handler : member.step->notify()) intent.add_dirty_handlers(handler);
  return context_.journal().RecordIntent(intent);
}

absl::StatusOr<StepRun::End> StepRun::Apply(std::vector<Member> go) {
  // Installations of several roles may become one transaction (SharedTransactions).
  std::optional<absl::ReaderMutexLock> beside_others;
  std::optional<absl::WriterMutexLock> alone;
  const v1::Step& step = *go.front().step;
  if (step.has_package() || NeedsPackagesAlone(step)) {
    context_.progress().Show(role_.name(), step, "waiting for another role's packages",
                             std::nullopt);
    if (step.has_package()) {
      beside_others.emplace(&context_.packages());
    } else {
      alone.emplace(&context_.packages());
    }
  }
  if (context_.stopping()) return std::nullopt;
  for (const Member& member : go) RETURN_IF_ERROR(RecordIntent(member));
  StepObserver observer(context_, role_, step);
  observer.OnActivity("applying", std::nullopt);
  const absl::Status applied = go.front().resource->Apply(observer);
  for (const Member& member : go) NoteUnits(context_, role_, *member.step);
  beside_others.reset();
  alone.reset();
  // It was told to let go, and continues in the agent's next life.
  if (absl::IsCancelled(applied) && context_.stopping()) return std::nullopt;

  bool blamed = false;
  std::vector<absl::Status> ends;
  for (const Member& member : go) {
    absl::Status end = absl::OkStatus();
    if (!member.resource->AlwaysChanges() && (applied.ok() || go.size() > 1)) {
      const absl::StatusOr<std::vector<Change>> left = member.resource->Check();
      if (!left.ok()) {
        end = left.status();
      } else if (!left->empty()) {
        end = NotConverged(*member.step, *member.resource, *left);
      }
    } else if (!applied.ok()) {
      end = applied;
    }
    if (!end.ok() && !applied.ok()) end = applied;
    blamed |= !end.ok();
    ends.push_back(std::move(end));
  }
  // A transaction that failed although everything is in place has still failed.
  if (!applied.ok() && !blamed) ends.front() = applied;
  std::string output = observer.TakeOutput();
  End first;
  bool left_open = false;
  for (size_t i = 0; i < go.size(); ++i) {
    // On a machine that is going down services cannot be started and networks are gone: a failure
    // now means nothing, and is tried again in the agent's next life.
    if (!ends[i].ok() && context_.stopping()) {
      left_open = true;
      continue;
    }
    ASSIGN_OR_RETURN(const v1::StepStatus status,
                     Settle(go[i], ends[i].ok() ? v1::STEP_STATUS_CHANGED : v1::STEP_STATUS_FAILED,
                            ends[i], i == 0 ? std::move(output) : std::string()));
    if (i == 0) first = status;
  }
  return left_open ? std::nullopt : first;
}

}  // namespace

v1::StepResult NewResult(const v1::RolePlan& role, const v1::Step& step, bool handler,
                         v1::StepStatus status) {
  v1::StepResult result;
  result.set_step_id(step.step_id());
  result.set_status(status);
  result.set_handler(handler);
  result.set_role(role.name());
  result.set_name(step.name());
  return result;
}

absl::StatusOr<std::optional<v1::StepStatus>> RunSteps(PlanContext& context,
                                                       const v1::RolePlan& role,
                                                       const std::vector<const v1::Step*>& steps,
                                                       bool handler) {
  return StepRun(context, role, handler).Run(steps);
}

}  // namespace muster::agent
