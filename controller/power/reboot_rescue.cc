#include "controller/power/reboot_rescue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/human_duration.h"
#include "controller/inventory/inventory.h"
#include "controller/power/power_control.h"
#include "controller/run/collaborators.h"
#include "controller/session/agent_sessions.h"
#include "controller/store/store.h"

namespace muster::controller::power {

std::vector<RebootRecord> PlanRescues(const std::vector<RebootRecord>& open,
                                      const Inventory& inventory,
                                      const std::function<bool(const std::string& uuid)>& is_up,
                                      absl::Time since, absl::Time now) {
  std::vector<RebootRecord> rescues;
  for (const RebootRecord& reboot : open) {
    const Node* const node = inventory.FindNode(reboot.node);
    if (node == nullptr || reboot.ended_at.has_value() || is_up(reboot.node_uuid)) continue;
    const absl::StatusOr<BmcAccess> access = BmcAccessOf(inventory, *node);
    if (!access.ok() || !access->cycle_after.has_value()) continue;
    const absl::Time due = reboot.granted_at + *access->cycle_after;
    if (due >= since && due <= now) rescues.push_back(reboot);
  }
  return rescues;
}

RebootRescue::RebootRescue(Store& store, AgentSessions& sessions, InventorySource& inventory,
                           Clock& clock, PowerControl& control,
                           std::function<void(absl::string_view)> warn)
    : store_(store),
      sessions_(sessions),
      inventory_(inventory),
      clock_(clock),
      control_(control),
      warn_(std::move(warn)),
      since_(clock.Now()),
      worker_(clock, [this] { return Step(); }) {}

absl::StatusOr<std::vector<RebootRecord>> RebootRescue::OpenReboots() {
  std::vector<RebootRecord> open;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, txn.runs().ListRunning());
    for (const RunRecord& run : runs) {
      ASSIGN_OR_RETURN(const std::vector<RebootRecord> of_run, txn.reboots().ListOpen(run.run_id));
      open.insert(open.end(), of_run.begin(), of_run.end());
    }
    return absl::OkStatus();
  }));
  return open;
}

absl::Status RebootRescue::Look(absl::Time now) {
  ASSIGN_OR_RETURN(const std::vector<RebootRecord> open, OpenReboots());
  std::set<std::string> known;
  for (const RebootRecord& reboot : open) {
    if (rescued_.count(reboot.permit_id) > 0) known.insert(reboot.permit_id);
  }
  rescued_ = std::move(known);
  if (open.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const InventoryVersion current, inventory_.Latest());
  const Inventory& inventory = *current.inventory;
  const auto is_up = [this](const std::string& uuid) { return sessions_.IsConnected(uuid); };
  for (const RebootRecord& reboot : PlanRescues(open, inventory, is_up, since_, now)) {
    if (!rescued_.insert(reboot.permit_id).second) continue;
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
    const absl::Status begun = control_.Begin(std::move(action), ControllerActor(), [] {}).status();
    if (!begun.ok()) {
      // The store does not answer: nothing was done, and the next look tries again.
      rescued_.erase(reboot.permit_id);
      return begun;
    }
    warn_(told);
  }
  return absl::OkStatus();
}

absl::Time RebootRescue::Step() {
  const absl::Time now = clock_.Now();
  const absl::Status looked = Look(now);
  if (!looked.ok() && !absl::IsNotFound(looked))
    warn_(absl::StrCat("nodes that are not back from their reboot: ", looked.message()));
  return now + kInterval;
}

}  // namespace muster::controller::power
