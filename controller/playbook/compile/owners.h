// Ownership of things on a node. Two tasks that want different states of one thing change it back
// and forth at every apply, and both report success: such a plan is refused.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/node_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::v1 {
class Plan;
class Step;
}  // namespace muster::v1

namespace muster::controller {

namespace playbook {

// A step's wishes about one thing. Aspects that it leaves alone are not included.
struct Claim {
  std::string thing;  // "/etc/motd", "package munge", "unit munge.service"
  std::string place;  // of the task: "roles/base/tasks/main.yaml:3"
  std::string task;   // its name
  // The aspects of the thing, each with a digest of its wanted value: values may be secret.
  std::vector<std::pair<absl::string_view, uint64_t>> wishes;

  bool operator==(const Claim&) const = default;
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, const Claim& claim) {
    return Hash::combine(std::move(hash), claim.thing, claim.place, claim.task, claim.wishes);
  }
};

// Everything that the step owns. Empty: it only acts, as commands and restarts do.
std::vector<Claim> ClaimsOf(const v1::Step& step);

}  // namespace playbook

// The claims of a run's plays on each node. Not thread-safe.
class RunOwners {
 public:
  // Compares the tasks of the plan with each other and with those of the node's earlier plays:
  // across plays, a thing may first be removed or stopped and later be present or running, since
  // plays run one after the other. Handlers own nothing. Errors name both places. Remembers the
  // plan if it is good.
  absl::Status Take(const v1::Plan& plan);

 private:
  using Claims = std::vector<const playbook::Claim*>;

  absl::node_hash_set<playbook::Claim> known_;                 // shared values are kept once
  std::map<std::string, std::map<uint32_t, Claims>> of_node_;  // then by play
};

}  // namespace muster::controller
