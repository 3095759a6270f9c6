#include "controller/rollout/way_back/rollout_image.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/disk_image.h"
#include "common/base/text/hostlist.h"
#include "common/value/image_manifest.h"
#include "controller/inventory/boot_choice.h"
#include "controller/inventory/inventory.h"
#include "controller/rollout/active_rollout.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller::rollout {

absl::Status NoteImages(Store& store, ActiveRollout& rollout) {
  auto& images = *rollout.request.mutable_node_images();
  return store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<BootDiskRecord> disks, txn.boots().ListDisks());
    std::set<std::string> written;
    for (const BootDiskRecord& disk : disks) written.insert(disk.node);
    for (const RolloutNodeRecord& node : rollout.nodes) {
      // Facts are large, and most clusters have no such nodes.
      if (written.count(node.node) == 0) continue;
      ASSIGN_OR_RETURN(const std::string told, txn.nodes().Facts(node.node_uuid));
      v1::Facts facts;
      if (!facts.ParseFromString(told)) continue;
      std::string image = DiskImageOf(facts.os().kernel_arguments());
      const absl::StatusOr<ImageReference> reference = ParseImageReference(image);
      if (reference.ok() && !reference->digest.empty()) images[node.node] = std::move(image);
    }
    return absl::OkStatus();
  });
}

std::vector<std::string> NodesToOtherImages(const Inventory& inventory,
                                            const v1::CreateRolloutRequest& request) {
  std::vector<std::string> others;
  for (const auto& [name, image] : request.node_images()) {
    const Node* const node = inventory.FindNode(name);
    if (node == nullptr) continue;
    const BootDefault boot = BootDefaultOf(inventory, *node);
    // Without a digest it is the next boot's business, and no run's.
    if (boot.choice.kind == BootChoice::Kind::kImage && absl::StrContains(boot.choice.image, '@') &&
        !IsSameBuild(boot.choice.image, image))
      others.push_back(name);
  }
  return others;
}

std::string StillNamed(const Inventory& inventory, const v1::CreateRolloutRequest& request) {
  std::vector<std::string> nodes = NodesToOtherImages(inventory, request);
  if (nodes.empty()) return "";
  return absl::StrCat("; `boot` in the inventory still names another image for ",
                      FoldHostlist(std::move(nodes)),
                      ": undo it there, or the next apply or boot moves them again");
}

}  // namespace muster::controller::rollout
