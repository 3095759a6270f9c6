#include "agent/engine/reboot_run.h"

#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/engine/boot_inventory.h"
#include "agent/engine/reboot_gate.h"
#include "agent/engine/step_report.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/utf8.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

// systemd stops the agent within moments of the beginning of a reboot.
constexpr absl::Duration kDownPatience = absl::Minutes(5);
constexpr absl::Duration kRebootLook = absl::Milliseconds(100);

}  // namespace

absl::Status CheckPermit(const v1::RebootPermit& permit, absl::string_view node_uuid,
                         absl::string_view boot_id, absl::string_view used, absl::Time now) {
  if (permit.permit_id().empty()) return absl::InvalidArgumentError("the permit has no id");
  if (permit.node_uuid() != node_uuid) {
    return absl::PermissionDeniedError(
        absl::StrCat("the permit is for another node (", permit.node_uuid(), ")"));
  }
  if (permit.boot_id() != boot_id) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the permit is for another boot (", permit.boot_id(), "); this one is ", boot_id));
  }
  if (permit.permit_id() == used) {
    return absl::FailedPreconditionError(
        absl::StrCat("permit ", permit.permit_id(), " has already been used"));
  }
  const absl::Time expires = ToTime(permit.expires_at());
  if (now < expires) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the permit expired ", absl::FormatDuration(absl::Trunc(now - expires, absl::Seconds(1))),
      " ago by this node's clock (",
      absl::FormatTime("%Y-%m-%d %H:%M:%SZ", now, absl::UTCTimeZone()),
      "); is the clock right (`chronyc tracking`)?"));
}

std::optional<absl::Status> AwaitInventory(PlanContext& context, const v1::RebootArmed& armed,
                                           ApplyObserver& observer) {
  const RebootOptions& reboots = context.reboots();
  if (!reboots.look) return absl::OkStatus();
  // Facts from when the agent connected may lack what has come since.
  const auto tell = [&](v1::Facts facts) {
    if (reboots.on_back) reboots.on_back(std::move(facts));
  };
  const absl::Time patience = context.clock().Now() + reboots.return_patience;
  while (true) {
    v1::Facts now = reboots.look();
    const std::vector<std::string> missing = MissingSince(armed, now);
    if (missing.empty()) {
      tell(std::move(now));
      return absl::OkStatus();
    }
    const std::string list = ValidUtf8(absl::StrJoin(missing, ", "), kMaxReasonBytes);
    if (context.stopping()) return std::nullopt;
    if (context.clock().Now() >= patience) {
      tell(std::move(now));
      return absl::FailedPreconditionError(absl::StrCat(
          "the node is back from its reboot, but lacks what it had before: ", list,
          "; it must not take jobs like this: see `dmesg` and `systemctl --failed` on the node"));
    }
    observer.OnActivity(absl::StrCat("waiting for what the node had before: ", list), std::nullopt);
    context.clock().Sleep(reboots.return_pause);
  }
}

absl::StatusOr<RebootEnd> RebootNode(PlanContext& context, const v1::RolePlan& role,
                                     const v1::Step& step, Resource& resource,
                                     const std::string& reason, ApplyObserver& observer) {
  const auto stopping = [&context] { return context.stopping(); };
  const auto show = [&](absl::string_view activity) {
    observer.OnActivity(activity, std::nullopt);
  };
  show("waiting for the roles running in parallel");
  if (!context.barrier().BeginReboot()) return RebootEnd();
  const absl::Cleanup end = [&context] { context.barrier().EndReboot(); };

  v1::RebootArmed armed;
  if (context.reboots().look) {
    show("noting what has to be there after the reboot");
    NoteInventory(context.reboots().look(), armed);
  }
  show("asking the controller for a permit to reboot");
  // It names files and packages, which may have any name.
  const std::string valid_reason = ValidUtf8(reason, kMaxReasonBytes);
  const std::string& plan_id = context.plan().plan_id();
  const absl::StatusOr<v1::RebootPermit> permit =
      context.reboots().gate->Ask(plan_id, step.step_id(), valid_reason, stopping);
  if (context.stopping()) return RebootEnd();
  if (!permit.ok()) return RebootEnd(permit.status());
  const v1::RebootArmed* before = context.Armed(step.step_id());
  const absl::Status allowed =
      CheckPermit(*permit, context.plan().node_uuid(), context.reboots().boot_id,
                  before == nullptr ? "" : before->permit_id(), context.clock().Now());
  if (!allowed.ok()) return RebootEnd(allowed);

  armed.set_plan_id(plan_id);
  armed.set_step_id(step.step_id());
  armed.set_boot_id(context.reboots().boot_id);
  armed.set_permit_id(permit->permit_id());
  RETURN_IF_ERROR(context.journal().ArmReboot(armed));
  context.Note(absl::StrCat("rebooting for step ", step.step_id(), ": ", reason));
  show("rebooting");
  const absl::Status begun = resource.Apply(observer);
  if (!begun.ok()) return RebootEnd(begun);
  const absl::Time patience = context.clock().Now() + kDownPatience;
  while (!context.stopping()) {
    if (context.clock().Now() >= patience) {
      return RebootEnd(absl::DeadlineExceededError(absl::StrCat(
          "systemd accepted the reboot but did not go down within ",
          absl::FormatDuration(kDownPatience), "; see `systemctl list-jobs` on the node")));
    }
    context.clock().Sleep(kRebootLook);
  }
  return RebootEnd();
}

}  // namespace muster::agent
