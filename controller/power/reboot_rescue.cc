#include "controller/power/reboot_rescue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/human_duration.h"
#include "controller/inventory/inventory.h"
#include "controller/run/collaborators.h"
#include "controller/session/agent_sessions.h"
#include "controller/store/store.h"
#include "muster/v1/power.pb.h"

namespace muster::controller::power {

std::vector<RebootRecord> PlanRescues(const std::vector<RebootRecord>& open,
                                      const Inventory& inventory, const OwnMachine& own,
                                      const std::function<bool(const std::string& uuid)>& is_up,
                                      const std::map<std::string, absl::Time>& last_steps,
                                      absl::Time since, absl::Time now) {
  std::vector<RebootRecord> rescues;
  for (const RebootRecord& reboot : open) {
    const Node* const node = inventory.FindNode(reboot.node);
    if (node == nullptr || reboot.ended_at.has_value() || is_up(reboot.node_uuid)) continue;
    if (IsOnOwnMachine(own, inventory, *node, reboot.boot_id)) continue;
    const absl::StatusOr<BmcAccess> access = BmcAccessOf(inventory, *node);
    if (!access.ok() || !access->cycle_after.has_value()) continue;
    const auto step = last_steps.find(reboot.node);
    const absl::Time seen_at = step == last_steps.end() ? reboot.granted_at : step->second;
    const absl::Time away_since = std::max(reboot.granted_at, seen_at);
    if (reboot.granted_at + *access->cycle_after >= since &&
        away_since + *access->cycle_after <= now)
      rescues.push_back(reboot);
  }
  return rescues;
}

RebootRescue::RebootRescue(Store& store, AgentSessions& sessions, InventorySource& inventory,
                           Clock& clock, PowerControl& control, OwnMachine own,
                           std::function<void(const std::string& node)> on_reboot,
                           std::function<void(absl::string_view)> warn)
    : store_(store),
      sessions_(sessions),
      inventory_(inventory),
      clock_(clock),
      control_(control),
      own_(std::move(own)),
      on_reboot_(std::move(on_reboot)),
      warn_(std::move(warn)),
      since_(clock.Now()),
      worker_(clock, [this] { return Step(); }) {}

absl::StatusOr<RebootRescue::Open> RebootRescue::OpenReboots() {
  Open open;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, txn.runs().ListRunning());
    for (const RunRecord& run : runs) {
      ASSIGN_OR_RETURN(const std::vector<RebootRecord> of_run, txn.reboots().ListOpen(run.run_id));
      open.reboots.insert(open.reboots.end(), of_run.begin(), of_run.end());
    }
    for (const RebootRecord& reboot : open.reboots) {
      const absl::StatusOr<absl::Time> step = txn.boots().NewestStepOf(reboot.node);
      if (absl::IsNotFound(step.status())) continue;
      ASSIGN_OR_RETURN(open.last_steps[reboot.node], step);
    }
    return absl::OkStatus();
  }));
  return open;
}

absl::Status RebootRescue::Look(absl::Time now) {
  ASSIGN_OR_RETURN(const Open open, OpenReboots());
  std::map<std::string, Tries> kept;
  for (const RebootRecord& reboot : open.reboots) kept.insert(tries_.extract(reboot.permit_id));
  tries_ = std::move(kept);
  if (open.reboots.empty()) return absl::OkStatus();
  for (const RebootRecord& reboot : open.reboots) {
    if (!sessions_.IsConnected(reboot.node_uuid)) on_reboot_(reboot.node);
  }
  ASSIGN_OR_RETURN(const InventoryVersion current, inventory_.Latest());
  const Inventory& inventory = *current.inventory;
  const auto is_up = [this](const std::string& uuid) { return sessions_.IsConnected(uuid); };
  for (const RebootRecord& reboot :
       PlanRescues(open.reboots, inventory, own_, is_up, open.last_steps, since_, now)) {
    Tries& tries = tries_[reboot.permit_id];
    Follow(reboot.node, tries);
    if (!tries.is_open || now < tries.next_at) continue;
    PowerAction action;
    action.order.verb = PowerVerb::kCycle;
    action.run_id = reboot.run_id;
    action.reason = absl::StrCat("not back from its reboot after ",
                                 HumanDuration(now - reboot.granted_at), " (bmc_cycle_after)");
    action.targets =
        TargetsOf(inventory, {inventory.FindNode(reboot.node)}, [](const std::string&) {
          return false;  // what was on before the reboot counts no more now
        });
    const std::string told =
        absl::StrCat(reboot.node, " is ", action.reason, "; it is power cycled once");
    // An error: the store does not answer. Nothing was done, and the next look tries again.
    ASSIGN_OR_RETURN(tries.watch, control_.Begin(std::move(action), ControllerActor(), [] {}));
    ++tries.count;
    tries.is_open = false;
    tries.next_at = now + tries.count * kTryGap;
    warn_(told);
  }
  return absl::OkStatus();
}

void RebootRescue::Follow(const std::string& node, Tries& tries) {
  while (tries.watch != nullptr) {
    const std::shared_ptr<const v1::PowerEvent> event = tries.watch->Next();
    if (event == nullptr) return;
    if (!event->has_node() || event->node().step() == v1::POWER_STEP_WAITING) continue;
    // No order comes before the question for the machine's state, and one that was lost may have
    // been carried out.
    tries.is_open = event->node().step() == v1::POWER_STEP_FAILED &&
                    event->node().state() == v1::POWER_STATE_UNSPECIFIED;
    if (tries.is_open)
      warn_(absl::StrCat(node, " was not power cycled: ", event->node().message(),
                         "; it is tried again while its run waits for it"));
    tries.watch.reset();
  }
}

absl::Time RebootRescue::Step() {
  const absl::Time now = clock_.Now();
  const absl::Status looked = Look(now);
  if (!looked.ok() && !absl::IsNotFound(looked))
    warn_(absl::StrCat("nodes that are not back from their reboot: ", looked.message()));
  return now + kInterval;
}

}  // namespace muster::controller::power
