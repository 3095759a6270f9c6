#include "controller/gate/restored_drains.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/audit/audit.h"
#include "controller/gate/service_state.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::validation {
namespace {

// A member as Slurm shows it.
struct SeenNode {
  std::string uuid;
  const slurm::SlurmNode* node = nullptr;
};

absl::StatusOr<std::vector<SeenNode>> NewlySeen(Transaction& txn,
                                                const std::vector<slurm::SlurmNode>& nodes) {
  ASSIGN_OR_RETURN(auto unseen, txn.restores().ListUnseen());
  std::vector<SeenNode> seen;
  if (unseen.empty()) return seen;
  std::map<std::string, const slurm::SlurmNode*> in_slurm;
  for (const slurm::SlurmNode& node : nodes) in_slurm[node.name] = &node;
  for (auto& [uuid, name] : unseen) {
    if (const auto found = in_slurm.find(name); found != in_slurm.end())
      seen.push_back({std::move(uuid), found->second});
  }
  return seen;
}

}  // namespace

absl::Status KeepRestoredDrains(Store& store, const std::vector<slurm::SlurmNode>& nodes,
                                absl::Time now) {
  bool has_news = false;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<SeenNode> seen, NewlySeen(txn, nodes));
    has_news = !seen.empty();
    return absl::OkStatus();
  }));
  if (!has_news) return absl::OkStatus();
  return store.Update([&](Transaction& txn) -> absl::Status {
    // Once more: somebody may have resumed some of them in between, and their drains must go.
    ASSIGN_OR_RETURN(const std::vector<SeenNode> seen, NewlySeen(txn, nodes));
    std::set<std::pair<std::string, std::string>> known;  // node and owner
    ASSIGN_OR_RETURN(const std::vector<NodeHoldRecord> holds, txn.node_holds().List());
    for (const NodeHoldRecord& hold : holds) known.insert({hold.node_uuid, hold.owner});
    ASSIGN_OR_RETURN(const std::vector<NodeServiceRecord> services,
                     txn.node_service().ListServices());
    for (const NodeServiceRecord& service : services)
      known.insert({service.node_uuid, service.drained_by});
    std::map<std::string, std::vector<std::string>> kept;  // names by reason
    for (const auto& [uuid, node] : seen) {
      RETURN_IF_ERROR(txn.restores().MarkSeen(uuid));
      const std::optional<ServiceHold> hold = HoldInSlurm(*node);
      if (!hold.has_value() || known.contains({uuid, hold->owner})) continue;
      RETURN_IF_ERROR(
          txn.node_holds().Put({uuid, hold->owner, hold->reason, now, hold->is_quarantine}));
      kept[node->reason].push_back(node->name);
    }
    for (const auto& [reason, names] : kept) {
      RETURN_IF_ERROR(Audit(txn, now, ControllerActor(), "slurm.keep", FoldHostlist(names),
                            absl::StrCat("was ", reason)));
    }
    return absl::OkStatus();
  });
}

}  // namespace muster::controller::validation
