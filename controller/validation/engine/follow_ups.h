// The validations that runs end with: suites for the nodes that came through them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/session/agent_sessions.h"
#include "controller/session/facts_round.h"
#include "controller/store/store.h"
#include "controller/validation/suite/hardware.h"

namespace muster {
class Clock;
}

namespace muster::v1 {
class CreateValidationRequest;
}

namespace muster::controller {
class Inventory;
struct Actor;
struct RunValidationRecord;
}  // namespace muster::controller

namespace muster::controller::validation {

// Whether `suite` can follow a run on `nodes`: everything that CreateValidation would refuse and
// that does not depend on the moment. InvalidArgument also for a suite that does not admit: no node
// would ever pass it for good.
absl::Status CheckEnding(const std::map<std::string, std::string>& site, const std::string& suite,
                         const std::vector<std::string>& nodes,
                         std::shared_ptr<const Inventory> inventory, Catalog catalog);

// Starts the validations that run_validations asks for, each once, even when the controller was
// restarted in between. A run may have changed its nodes' properties, so they are first asked for
// their facts; nodes that have passed with these are left alone. Thread-safe.
class FollowUps {
 public:
  // How long nodes may take to answer, and after a restart to find the controller again.
  static constexpr absl::Duration kFactsWait = absl::Seconds(15);
  static constexpr absl::Duration kRestartWait = absl::Seconds(60);
  static constexpr absl::Duration kInterval = absl::Seconds(1);
  // When to ask again for nodes that have other work.
  static constexpr absl::Duration kBusyWait = absl::Seconds(5);

  // Creates a validation and stores `asked_by` as started by it, in one transaction.
  // FailedPrecondition: other work holds one of the nodes. Cancelled: `asked_by` is not waiting.
  using Create = std::function<absl::Status(const v1::CreateValidationRequest& request,
                                            const RunValidationRecord& asked_by)>;

  // The nodes among these because of which Create returns FailedPrecondition.
  using Busy = std::function<std::set<std::string>(const std::vector<std::string>& nodes)>;

  // The references must outlive the object.
  FollowUps(Store& store, AgentSessions& sessions, Clock& clock, Create create, Busy busy)
      : store_(store),
        sessions_(sessions),
        clock_(clock),
        create_(std::move(create)),
        busy_(std::move(busy)),
        worker_(clock, [this] { return Step(); }) {}

  // Resumes what an earlier process left. Call once, first.
  absl::Status Resume();
  void Start() { worker_.Start(); }
  void Stop() { worker_.Stop(); }

  // Cancels all suites of the run that are waiting; they are never started. NotFound: there is no
  // such run; FailedPrecondition: none of its suites is waiting.
  absl::Status Cancel(const std::string& run_id, const Actor& actor);

  // The run is over, and its nodes are free.
  void OnRunEnded(const std::string& run_id);
  // The facts that were requested at the end of the run are in the store.
  void OnFactsStored(const std::string& node_uuid, const std::string& run_id);
  // Handles everything that is due, once, in the caller's thread.
  void Reconcile();

 private:
  // A run with undecided suites.
  struct Due {
    absl::Time deadline;                     // wait for facts until then
    absl::Time next = absl::InfinitePast();  // do not look before
    FactsRound facts;
  };
  struct Ended;

  absl::Time Step();
  // False: not everything of the run is decided yet.
  bool LookAt(const std::string& run_id);
  absl::Status Read(const std::string& run_id, Ended& ended);
  bool HaveFacts(const Ended& ended);
  // Moves the free nodes of `row` to a row of their own, so that a job of days does not hold them
  // up.
  absl::Status Split(const RunValidationRecord& row, const std::vector<std::string>& nodes,
                     bool& split);
  absl::Status Decide(const Ended& ended, RunValidationRecord row, bool& decided);

  Store& store_;
  AgentSessions& sessions_;
  Clock& clock_;
  const Create create_;
  const Busy busy_;
  absl::Mutex mutex_;
  std::map<std::string, Due> due_ ABSL_GUARDED_BY(mutex_);  // by run
  Worker worker_;
};

}  // namespace muster::controller::validation
