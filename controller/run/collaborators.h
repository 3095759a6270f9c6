// The run engine's collaborators, as small interfaces.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "controller/playbook/compiler.h"
#include "controller/run/plan/held_plan.h"
#include "controller/session/agent_sessions.h"
#include "controller/store/store.h"

namespace muster::controller {

class BundleApprovals;
class NodeClaims;
struct Actor;
struct RunMandate;
namespace validation {
class RebootDrains;
}

// The compiler of controller/playbook/compiler.h.
class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual absl::StatusOr<std::shared_ptr<const Playbook>> Load(const FileTree& site,
                                                               absl::string_view path) = 0;
  virtual std::vector<std::string> Plays(const Playbook& playbook) = 0;
  // InvalidArgument: one of the tags occurs nowhere in the playbook.
  virtual absl::Status CheckTags(const Playbook& playbook,
                                 const std::vector<std::string>& tags) = 0;
  // InvalidArgument: variables of the inventory or of -e are misspelled.
  virtual absl::Status CheckVariableNames(const FileTree& site, const Inventory& inventory,
                                          const CompileOptions& options) = 0;
  virtual absl::StatusOr<std::vector<std::string>> SelectNodes(const Playbook& playbook,
                                                               size_t play_index,
                                                               const Inventory& inventory,
                                                               absl::string_view limit) = 0;
  // See controller::SelectEndings().
  virtual absl::StatusOr<std::vector<PlaybookEnding>> SelectEndings(
      const Playbook& playbook, const Inventory& inventory, absl::string_view limit,
      const std::vector<std::string>& tags) = 0;
  // Compiles the play for `nodes`, at most `batch` at a time; ends early when `take` returns false.
  virtual void Compile(const Playbook& playbook, size_t play_index, const Inventory& inventory,
                       const FactsByNode& facts, const std::vector<std::string>& nodes,
                       const CompileOptions& options, SecretSource& secrets, size_t batch,
                       absl::FunctionRef<bool(std::vector<NodePlan>)> take) = 0;
};

struct InventoryVersion {
  uint64_t revision = 0;
  std::shared_ptr<const Inventory> inventory;
};

// The revisions of the inventory, parsed.
class InventorySource {
 public:
  virtual ~InventorySource() = default;
  // NotFound, with the remedy: no inventory was applied yet.
  virtual absl::StatusOr<InventoryVersion> Latest() = 0;
  virtual absl::StatusOr<std::shared_ptr<const Inventory>> Get(uint64_t revision) = 0;
};

// All must be thread-safe and outlive the engine.
struct RunCollaborators {
  Store& store;
  AgentSessions& sessions;
  Compiler& compiler;
  InventorySource& inventory;
  SecretSource& secrets;
  Clock& clock;
  // The files of the bundle with this SHA-256. NotFound: not uploaded.
  std::function<absl::StatusOr<FileTree>(const std::string& sha256)> load_bundle;
  // Stores a content that is too large for a plan.
  std::function<absl::Status(const std::string& sha256, const std::string& content)> put_blob;
  ClusterIdentity cluster = {};
  // The nodes that validations hold. nullptr: there are none.
  NodeClaims* claims = nullptr;
  // Called when the nodes' state for Slurm may have changed: a play or a run has ended, or a worker
  // is back from its reboot. Must not block. May be empty.
  std::function<void()> on_service_changed = nullptr;
  // Whether the suite could be started after the run, as far as that can be known before it, from
  // the suite and the files that it uses. Errors have their place. Empty: playbooks must name no
  // suites.
  std::function<absl::Status(const FileTree& site, const PlaybookEnding& ending,
                             std::shared_ptr<const Inventory> inventory)>
      check_ending = nullptr;
  // Called when a run with suites at its end is over and holds no nodes any more; run_validations
  // says what it asks for. Must return soon. Not called for runs that an earlier process ended. May
  // be empty.
  std::function<void(const std::string& run_id)> on_ended = nullptr;
  // Whether the person who created a run may still have it carried out, for nodes that missed it.
  // PermissionDenied with the reason. Empty: they may.
  std::function<absl::Status(const RunMandate& mandate)> may_catch_up = nullptr;
  // What the controller offers to its nodes now. Empty: nothing.
  std::function<ControllerOffer()> offer = nullptr;
  // Decides what operators may run. nullptr: everything.
  BundleApprovals* approvals = nullptr;
  // Drains workers before they reboot. nullptr: nobody does, as Muster drains no nodes here.
  validation::RebootDrains* drains = nullptr;
  // Has the boot server write this build of an image to the node's disk at its next boot, by an
  // order that has this id. `also` is stored in the same transaction as the order. InvalidArgument,
  // NotFound, FailedPrecondition: it cannot, with the reason. Empty: there is no boot server.
  using OrderImage = std::function<absl::Status(
      const std::string& order_id, const std::string& node, const std::string& image,
      const Actor& actor, absl::FunctionRef<absl::Status(Transaction&)> also)>;
  OrderImage order_image = nullptr;
  // Takes the node's order back if it is still that one. Empty: nothing was ever ordered.
  std::function<absl::Status(const std::string& order_id, const std::string& node)>
      take_back_image = nullptr;
};

}  // namespace muster::controller
