// Carries validations out: executes the decisions of ValidationState with the store and the
// sessions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/session/agent_sessions.h"
#include "controller/store/store.h"
#include "controller/validation/engine/prepared_suite.h"
#include "controller/validation/engine/validation_events.h"
#include "controller/validation/schedule/validation_state.h"
#include "muster/v1/validation.pb.h"

namespace muster {
class Clock;
}

namespace muster::v1 {
class CheckReport;
class CheckUpdate;
class Hello;
}  // namespace muster::v1

namespace muster::controller {
class NodeClaims;
struct RunValidationRecord;
struct ValidationRecord;
}  // namespace muster::controller

namespace muster::controller::validation {

struct ActiveValidation;

// All must be thread-safe and outlive the engine.
struct ValidationCollaborators {
  Store& store;
  AgentSessions& sessions;
  Clock& clock;
  NodeClaims& claims;
  Catalog catalog;
  // The inventory in force with its revision, and an earlier one.
  std::function<absl::StatusOr<std::pair<uint64_t, std::shared_ptr<const Inventory>>>()>
      latest_inventory;
  std::function<absl::StatusOr<std::shared_ptr<const Inventory>>(uint64_t revision)> inventory;
  // The files of the bundle with this SHA-256. NotFound: not uploaded.
  std::function<absl::StatusOr<std::map<std::string, std::string>>(const std::string& sha256)>
      load_bundle;
  // Called for each node of a validation that ended, outside of any transaction. May be empty.
  std::function<void(const std::string& node_uuid, const std::string& validation_id,
                     v1::Outcome outcome)>
      on_judged = nullptr;
  // The node's present state in Slurm; see NodeVerdict.service. May be empty.
  std::function<std::string(const std::string& node)> service_of = nullptr;
  // Takes the nodes out of Slurm's service before their validation begins; may block for Slurm.
  // FailedPrecondition: Slurm has jobs on some. May be empty.
  std::function<absl::Status(const std::string& validation_id,
                             const std::vector<std::string>& nodes, bool force)>
      hold = nullptr;
  // The validation has been stored, or never will be. May be empty.
  std::function<void(const std::string& validation_id)> release = nullptr;
  // Whether `service_of` does not know of the validation's end yet. May be empty.
  std::function<bool(const std::string& validation_id)> service_is_behind = nullptr;
  // Those of the nodes that could be borrowed without taking them away from anybody, best first,
  // otherwise in the given order; may block for Slurm. Empty: all.
  std::function<std::vector<std::string>(const std::vector<std::string>& nodes)> whom_to_borrow =
      nullptr;
};

// The caller, for the audit log.
struct ValidationActor {
  std::string actor;  // "operator:alice", "controller"
  std::string peer;
};

// Every transition is stored before it is acted on; transitions that the store could not save are
// tried again at each Tick(). Not thread-safe: ValidationManager calls it from one thread at a
// time.
class ValidationEngine {
 public:
  explicit ValidationEngine(ValidationCollaborators collaborators);
  ~ValidationEngine();

  // Resumes the validations that an earlier process left. Call once, first, after the runs have
  // claimed their nodes.
  absl::Status Resume();
  // Checks the suite and the hardware files and claims the nodes. Errors: theirs, with their place;
  // FailedPrecondition when a run or another validation holds one of the nodes. Pass the result to
  // Begin() or Drop().
  absl::StatusOr<std::unique_ptr<ActiveValidation>> Admit(
      const v1::CreateValidationRequest& request, const ValidationActor& actor);
  // Stores the validation and starts it. `asked_by` is the request of a run, which is stored as
  // started together with the validation. Cancelled: that request has been withdrawn.
  absl::StatusOr<v1::Validation> Begin(std::unique_ptr<ActiveValidation> admitted,
                                       const ValidationActor& actor,
                                       const RunValidationRecord* asked_by = nullptr);
  void Drop(std::unique_ptr<ActiveValidation> admitted);
  // Call between Admit() and Begin(): the nodes that could be borrowed as a witness, best first:
  // they are connected, and no work holds them.
  std::vector<std::string> WitnessesFor(const ActiveValidation& admitted) const;
  // Claims one of them, and releases it. FailedPrecondition: other work has claimed it by now.
  absl::Status ClaimWitness(const ActiveValidation& admitted, const std::string& node);
  void ReleaseWitness(const ActiveValidation& admitted, const std::string& node);
  // Rebuilds the validation with the claimed node. On an error it stays as it was.
  absl::Status AddWitness(const std::string& node, std::unique_ptr<ActiveValidation>& admitted);
  // FailedPrecondition: it has already ended.
  absl::Status Cancel(const std::string& validation_id, const ValidationActor& actor);
  // Its present state; for one that has ended, from the store. NotFound: there is none.
  absl::StatusOr<v1::Validation> Get(const std::string& validation_id) const;
  // For one that has ended: only its end, at once.
  absl::StatusOr<std::shared_ptr<ValidationEvents>> EventsOf(
      const std::string& validation_id) const;
  // Disconnects all watchers: the controller is stopping.
  void BreakWatches();

  // Tells the agent to stop checks that are not wanted any more.
  void OnConnected(const std::string& uuid, const v1::Hello& hello);
  void OnDisconnected(const std::string& uuid);
  void OnUpdate(const std::string& uuid, const v1::CheckUpdate& update);
  // Acknowledged once it is stored, or at once when it is not wanted.
  void OnReport(const std::string& uuid, const v1::CheckReport& report);
  // The facts that were requested from the node are in the store.
  void OnFactsStored(const std::string& uuid, absl::string_view request_id);
  // Stores and acts on the results of all calls since the last Settle() together. Call after a
  // batch of them.
  void Settle();
  // Call about every second.
  void Tick();

 private:
  absl::StatusOr<std::unique_ptr<ActiveValidation>> Prepare(
      const ValidationRecord& record, std::shared_ptr<const Inventory> inventory,
      const std::map<std::string, EnrolledNode>& enrolled, std::vector<CheckPart> stored);
  absl::Status ResumeOne(const ValidationRecord& record);
  // Judges the checks again that had ended before a restart.
  absl::Status JudgeStored(ActiveValidation& validation, const std::vector<CheckPart>& stored);
  absl::Status ClaimNodes(const ActiveValidation& validation);
  absl::Status Claim(const ValidationRecord& record, const std::vector<std::string>& nodes);
  absl::Status StoreNew(const ActiveValidation& validation, const ValidationActor& actor,
                        const RunValidationRecord* asked_by);
  // The present state of the nodes.
  absl::StatusOr<std::map<std::string, EnrolledNode>> Enrolled() const;
  // The state of the nodes when the validation was created.
  absl::StatusOr<std::map<std::string, EnrolledNode>> EnrolledThen(
      const std::string& validation_id) const;
  ActiveValidation* FindByCheck(absl::string_view check_id);
  // Whether this check belongs to this node and to an active validation, and has not ended for it.
  bool IsWanted(const std::string& uuid, const std::string& check_id);
  void Remove(const std::string& validation_id);

  // validation_actions.cc
  void Perform(ActiveValidation& validation);
  absl::Status Persist(ActiveValidation& validation);
  void Carry(ActiveValidation& validation, const ValidationAction& action);
  void StartCheck(ActiveValidation& validation, const CheckPart& part);
  void StopCheck(const std::string& uuid, const std::string& check_id, const std::string& reason);
  void ConnectPeers(ActiveValidation& validation, const CheckPart& part);
  void PublishVerdict(ActiveValidation& validation, const CheckPart& part);
  void Acknowledge(const std::string& uuid, const std::string& check_id);

  // validation_witness.cc has WitnessesFor() and the functions after it.

  // validation_salvage.cc
  // Ends a validation that is not active with what is stored of its checks: a fail counts,
  // everything else is unknown. `record.message` says why.
  absl::Status FinishStored(ValidationRecord record);

  // validation_finish.cc
  absl::Status Finish(ActiveValidation& validation);

  // validation_facts.cc
  // Asks the nodes that were not asked yet.
  void AskFacts(ActiveValidation& validation, bool at_end);
  // Stores the facts that nodes reported at the start.
  absl::Status StoreStart(ActiveValidation& validation);
  // Asks nodes for their present facts. True: Finish() need not wait any longer.
  bool HaveFinalFacts(ActiveValidation& validation);

  const ValidationCollaborators with_;
  std::map<std::string, std::unique_ptr<ActiveValidation>, std::less<>> active_;
  // Stop messages that did not fit into a connected agent's queue, with their reasons: by uuid and
  // check id.
  std::map<std::pair<std::string, std::string>, std::string> unsent_stops_;
};

}  // namespace muster::controller::validation
