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
#include "controller/validation/engine/collaborators.h"
#include "controller/validation/engine/prepared_suite.h"
#include "controller/validation/engine/validation_feed.h"
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
struct FactsRequest;
class NodeClaims;
struct RunValidationRecord;
struct ValidationRecord;
}  // namespace muster::controller

namespace muster::controller::validation {

struct ActiveValidation;
class Admission;

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
  // Stores the validation and starts it; on an error the admission keeps it. `asked_by`: what a run
  // asked for, which is stored as started with the validation. Cancelled: nobody asks for that any
  // more.
  absl::StatusOr<v1::Validation> Begin(Admission& admission, const Actor& actor,
                                       const RunValidationRecord* asked_by = nullptr);
  // FailedPrecondition: it has ended already.
  absl::Status Cancel(const std::string& validation_id, const Actor& actor);
  // Its present state; for one that has ended, from the store. NotFound: there is none.
  absl::StatusOr<v1::Validation> Get(const std::string& validation_id) const;
  // For one that has ended: only its end, at once.
  absl::StatusOr<std::shared_ptr<ValidationFeed>> EventsOf(const std::string& validation_id) const;
  // Disconnects all watchers: the controller is stopping.
  void BreakWatches();

  // Tells the agent to stop checks that are not wanted any more.
  void OnConnected(const std::string& uuid, const v1::Hello& hello);
  void OnDisconnected(const std::string& uuid);
  void OnUpdate(const std::string& uuid, const v1::CheckUpdate& update);
  // Acknowledged once it is stored, or at once when it is not wanted.
  void OnReport(const std::string& uuid, const v1::CheckReport& report);
  // The facts that were requested from the node are in the store.
  void OnFactsStored(const std::string& uuid, const FactsRequest& request);
  // Stores and acts on the results of all calls since the last Flush() together. Call after a
  // batch of them.
  void Flush();
  // Call about every second.
  void Tick();

 private:
  absl::Status ResumeOne(const ValidationRecord& record);
  // Takes up the checks that had ended before a restart.
  absl::Status Recollect(ActiveValidation& validation, const std::vector<CheckPart>& stored);
  absl::Status StoreNew(const ActiveValidation& validation, const Actor& actor,
                        const RunValidationRecord* asked_by);
  // Nodes as they were when the validation was created.
  absl::StatusOr<std::map<std::string, EnrolledNode>> EnrolledThen(
      const std::string& validation_id) const;
  ActiveValidation* FindByCheck(absl::string_view check_id);
  // Whether other validations load a rack.
  PowerBudget::OthersLoad OthersLoad(const std::string& validation_id) const;
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
