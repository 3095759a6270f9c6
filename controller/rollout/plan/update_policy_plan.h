// Decides what an update policy of the inventory does next: a pure decision, from what is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "controller/rollout/plan/window.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller::rollout {

// What a playbook gives to nodes: its bundle, and the digest of what the inventory says.
struct PolicyPair {
  std::string bundle;
  std::string content;

  bool operator==(const PolicyPair& other) const {
    return bundle == other.bundle && content == other.content;
  }
};

struct PolicyView {
  // The newest bundle that an administrator accepted for the playbook.
  struct Acceptance {
    std::string bundle;
    std::string by;  // "admin:ann"
    absl::Time at;
    std::string revoked_by;  // "": it is in force
  };
  // The newest rollout of the policy, apart from ways back.
  struct Attempt {
    std::string rollout_id;
    PolicyPair pair;
    v1::RolloutState state = v1::ROLLOUT_STATE_ROLLING;
    std::string message;
    absl::Time created_at;
    std::optional<absl::Time> finished_at;
  };
  // What was applied last to all of the policy's nodes: by an administrator, by the policy, or,
  // where it is the accepted bundle, by anybody.
  struct Application {
    std::string id;  // "r-7k3m9q2x", "u-7k3m9q2x"
    PolicyPair pair;
    absl::Time finished_at;
  };
  // A rollout in progress over some of the policy's nodes, other than its own newest.
  struct Other {
    std::string rollout_id;
    std::string created_by;
  };
  // Why the last try to begin a rollout was refused.
  struct Refusal {
    PolicyPair pair;
    std::string message;
    bool may_pass = false;  // by itself, without an administrator
    absl::Time retry_at;
  };

  std::string playbook;
  std::vector<Window> windows;
  std::string content;  // of the inventory in force
  uint64_t revision = 0;
  std::optional<Acceptance> accepted;
  std::optional<Attempt> last;
  std::optional<Application> applied;
  std::vector<Other> others;
  std::optional<Refusal> refused;
  absl::Time now;
  absl::TimeZone zone;  // of the windows
};

struct PolicyDecision {
  v1::UpdatePolicyState state = v1::UPDATE_POLICY_STATE_UP_TO_DATE;
  std::string message;  // for people, with the remedy where somebody is needed
  bool starts = false;  // a rollout of `accepted`, now
};

// What holds for every view:
//
// - Nothing starts while the policy's newest rollout has not ended, whatever was accepted since:
//   the newest bundle follows it.
// - Nothing starts of a revoked bundle, and no earlier one in its place: policies never go back.
// - A pair that the policy has tried starts again only when it did not complete, or completed with
//   too many failures, and its bundle was accepted once more after that. Completed otherwise, or
//   applied whole by somebody since, is up to date.
// - A pair that it has not tried starts unless it was applied whole since the policy's last try.
// - Nothing starts outside of the window, beside another rollout over the same nodes, or before
//   retry_at after a refusal of the same pair.
PolicyDecision DecidePolicy(const PolicyView& view);

}  // namespace muster::controller::rollout
