#include "controller/rollout/way_back/way_back.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/active_rollout.h"
#include "controller/rollout/applications.h"
#include "controller/rollout/collaborators.h"
#include "controller/rollout/way_back/rollout_image.h"
#include "controller/rollout/way_back/rollout_stack.h"
#include "controller/store/store.h"

namespace muster::controller::rollout {
namespace {

constexpr char kStackVariable[] = "stack";
// See the role disk_image.
constexpr char kDiskImageVariable[] = "disk_image";

// The bundle that was applied whole last with the same playbook, by a rollout or by a run over
// everything: other than the request's, unless `or_the_same`. "": there is none.
std::string PreviousBundle(const std::vector<Application>& applications,
                           const v1::CreateRolloutRequest& request, bool or_the_same) {
  for (const Application& each : applications) {
    if ((or_the_same || each.bundle != request.bundle_sha256()) &&
        (each.is_rollout || each.limit.empty()))
      return each.bundle;
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
  rollout.record.previous_bundle = PreviousBundle(applications, rollout.request, moves_image);
  if (rollout.request.stack().empty()) return absl::OkStatus();
  const Application* before = BeforeStack(with, applications, rollout.request.stack(), workers);
  if (before == nullptr) return absl::OkStatus();
  rollout.record.previous_bundle = before->bundle;
  rollout.request.set_revision_before(before->inventory_revision);
  return absl::OkStatus();
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
