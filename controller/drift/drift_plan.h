// Decides which nodes are compared with what was applied to them, and which are repaired: pure
// decisions, from what is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "muster/v1/drift.pb.h"

namespace muster::controller::drift {

// The most nodes of one check. Checks follow each other, so that nodes of a large cluster do not
// all ask their package managers at the same moment.
inline constexpr size_t kBatch = 64;
// Between two checks of a policy at least, and in a large cluster at most.
inline constexpr absl::Duration kLeastGap = absl::Seconds(10);
inline constexpr absl::Duration kMostGap = absl::Minutes(10);
// After a check that did not come to its end: sooner than the policy's interval.
inline constexpr absl::Duration kRetry = absl::Hours(1);
// After a repair, the same node is not repaired again for so long: what differs again at once is
// changed by something else, and somebody has to look.
inline constexpr absl::Duration kRepairPause = absl::Hours(24);

// What the store knows of one node of a policy.
struct NodeView {
  // The newest run that applied the policy's playbook whole to the node and succeeded there.
  struct Applied {
    std::string run_id;
    absl::Time finished_at;
    // What the run was asked for, apart from its nodes: a serialized v1::CreateRunRequest for a
    // check of the same. Equal for nodes that are to be checked together.
    std::string check;
    std::string bundle;          // SHA-256
    bool has_variables = false;  // -e, which a rollout of a policy cannot have
  };
  // The newest check of the policy that has the node and has ended.
  struct Checked {
    std::string run_id;
    absl::Time created_at;
    absl::Time finished_at;
    uint32_t changes = 0;
    std::string failure;  // "": it came to its end on the node
  };
  // The newest rollout of the policy that has the node.
  struct Repair {
    std::string rollout_id;
    absl::Time created_at;
    bool is_done = false;  // the node was updated
  };

  std::string node;
  bool is_worker = false;
  bool is_free = false;  // connected, and no other work holds it
  std::optional<Applied> applied;
  std::optional<Checked> checked;
  std::optional<Repair> repair;
};

struct PolicyView {
  absl::Duration every;
  bool repairs = false;
  std::vector<NodeView> nodes;           // in inventory order
  std::optional<absl::Time> last_check;  // when the newest check began
  bool is_checking = false;              // it has not ended
  bool is_repairing = false;             // a rollout of the policy has not ended
  // When the store was last taken back to a backup: what was applied before is as old as that.
  std::optional<absl::Time> restored_at;
  absl::Time now;
};

v1::DriftState StateOf(const NodeView& node);

// What starts now; both lists may be empty.
struct Decision {
  std::vector<std::string> check;  // the nodes
  std::string request;             // NodeView::Applied::check of all of them
  std::vector<std::string> repair;
  std::string bundle;   // NodeView::Applied::bundle of all that are repaired
  std::string message;  // why some that differ are not repaired, for people
};

// What holds for every view:
//
// - Only nodes that are free are checked, at most kBatch at once, those first that were never
//   checked since their last apply, then those whose check is the oldest. A clock that was set back
//   lets nobody wait: a check in the future counts as too old.
// - One check and one repair of a policy at a time.
// - A repair follows each check at most once, and only of workers whose last apply had no -e and is
//   newer than the last restore of the store.
Decision Decide(const PolicyView& view);

}  // namespace muster::controller::drift
