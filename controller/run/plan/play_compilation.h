// Compiles a play: from the content of the store to plans that can be sent.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "controller/run/collaborators.h"

namespace muster::controller {

class KeptFacts;

// Everything that a compilation needs to know about its run, which may end meanwhile.
struct PlayWork {
  std::string run_id;
  uint32_t play = 0;
  std::string play_name;
  bool check_only = false;
  bool want_diff = false;
  CompileOptions options;
  std::shared_ptr<const Playbook> playbook;
  std::shared_ptr<const Inventory> inventory;
  std::vector<std::pair<std::string, std::string>> nodes;  // name, uuid
  std::shared_ptr<const HeldPlan> held;                    // nullptr: the run follows the playbook
  std::set<std::string> changed;    // in check mode: nodes that an earlier play would change
  bool puts_reboots_off = false;    // see reboot_mode.h
  std::set<std::string> last_here;  // nodes that reboot at the end of this play, their last one
};

struct FinishedPlan {
  std::string node;
  absl::Status error;        // the reason why there is no plan
  std::string steps_digest;  // for checks and held runs, see NodeRecap
  // A serialized v1::ControllerMessage; nullptr without an error: the node has nothing to do.
  std::shared_ptr<const std::string> message;
};

// Some of the nodes of a PlayWork.
struct PlanBatch {
  std::string run_id;
  uint32_t play = 0;
  absl::Status status;  // an error: the store does not answer, and the rest has not been compiled
  std::vector<FinishedPlan> plans;
};

// The number of plans that exist as objects at the same time.
inline constexpr size_t kPlanBatch = 128;

// Compiles with the newest facts, numbers the plans, stores the contents that they name and hands
// them over, kPlanBatch at a time. Stops when `take` returns false. Needs no lock; takes seconds in
// a large cluster.
void CompilePlans(const RunCollaborators& with, KeptFacts& kept, const PlayWork& work,
                  absl::FunctionRef<bool(PlanBatch)> take);

}  // namespace muster::controller
