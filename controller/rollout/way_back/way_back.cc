#include "controller/rollout/way_back/way_back.h"

#include <set>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/active_rollout.h"
#include "controller/rollout/applications.h"
#include "controller/rollout/collaborators.h"
#include "controller/rollout/way_back/rollout_image.h"
#include "controller/rollout/way_back/rollout_stack.h"
#include "controller/run/collaborators.h"
#include "controller/store/store.h"

namespace muster::controller::rollout {
namespace {

constexpr char kStackVariable[] = "stack";
// See the role disk_image.
constexpr char kDiskImageVariable[] = "disk_image";

// The bundle that was applied whole last to these workers with the same playbook: other than the
// request's, unless `or_the_same`. "": there is none.
absl::StatusOr<std::string> PreviousBundle(const RolloutCollaborators& with,
                                           const std::vector<Application>& applications,
                                           const std::vector<std::string>& workers,
                                           const v1::CreateRolloutRequest& request,
                                           bool or_the_same) {
  std::set<uint64_t> read;
  for (const Application& each : applications) {
    const bool is_other = or_the_same || each.bundle != request.bundle_sha256();
    if (!each.has_succeeded || !is_other) continue;
    if (!each.limit.empty()) read.insert(each.inventory_revision);
    if (read.size() > kRevisionsRead) break;
    ASSIGN_OR_RETURN(const bool covers,
                     Covers(with.inventory, each.inventory_revision, each.limit, workers));
    if (covers) return each.bundle;
  }
  return "";
}

}  // namespace

absl::Status FindWayBack(const RolloutCollaborators& with, const Inventory& inventory,
                         const std::vector<std::string>& workers, ActiveRollout& rollout) {
  std::vector<Application> applications;
  RETURN_IF_ERROR(with.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(applications, ReadApplications(txn, rollout.request.playbook()));
    return absl::OkStatus();
  }));
  // What takes another rollout back has the images of that one, and gives them back itself.
  const bool is_way_back = !rollout.request.rolls_back_id().empty();
  if (!is_way_back) RETURN_IF_ERROR(NoteImages(with.store, rollout));
  const bool moves_image = !is_way_back && !NodesToOtherImages(inventory, rollout.request).empty();
  ASSIGN_OR_RETURN(rollout.record.previous_bundle,
                   PreviousBundle(with, applications, workers, rollout.request, moves_image));
  if (rollout.request.stack().empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Application* const before,
                   BeforeStack(with, applications, rollout.request.stack(), workers));
  if (before == nullptr) return absl::OkStatus();
  rollout.record.previous_bundle = before->bundle;
  rollout.request.set_revision_before(before->inventory_revision);
  return absl::OkStatus();
}

absl::StatusOr<TouchedNodes> TouchedBy(const RolloutCollaborators& with,
                                       const ActiveRollout& rollout) {
  ASSIGN_OR_RETURN(const InventoryVersion inventory, with.inventory.Latest());
  TouchedNodes touched;
  RETURN_IF_ERROR(with.store.View([&](Transaction& txn) -> absl::Status {
    for (const RolloutNodeRecord& node : rollout.nodes) {
      if (node.run_id.empty()) continue;
      const absl::StatusOr<NodeRecord> now = txn.nodes().GetByName(node.node);
      if (!now.ok() && !absl::IsNotFound(now.status())) return now.status();
      const bool is_here = now.ok() && now->uuid == node.node_uuid &&
                           inventory.inventory->FindNode(node.node) != nullptr;
      (is_here ? touched.here : touched.gone).push_back(node.node);
    }
    return absl::OkStatus();
  }));
  return touched;
}

std::map<std::string, std::string> GivenBack(const v1::CreateRolloutRequest& request,
                                             const std::string& node) {
  std::map<std::string, std::string> given;
  if (request.rolls_back_id().empty()) return given;
  const auto stack = request.node_stacks().find(node);
  if (stack != request.node_stacks().end())
    given[kStackVariable] = nlohmann::json(stack->second).dump();
  const auto image = request.node_images().find(node);
  if (image != request.node_images().end())
    given[kDiskImageVariable] = nlohmann::json(image->second).dump();
  return given;
}

std::string LeftToUndo(const RolloutCollaborators& with, const ActiveRollout& rollout) {
  const absl::StatusOr<InventoryVersion> current = with.inventory.Latest();
  return absl::StrCat(
      StillChosen(with, rollout.request, rollout.record.inventory_revision, rollout.names()),
      current.ok() ? StillNamed(*current->inventory, rollout.request) : "");
}

}  // namespace muster::controller::rollout
