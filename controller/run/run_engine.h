// Carries runs out: executes the decisions of RunState with the store, the sessions and the
// compiler.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "controller/audit/audit.h"
#include "controller/run/catch_ups.h"
#include "controller/run/collaborators.h"
#include "controller/run/facts_freshness.h"
#include "controller/run/plan/play_compilation.h"
#include "controller/run/reboot_permits.h"
#include "controller/run/report_inbox.h"
#include "controller/run/run_events.h"
#include "controller/run/run_state.h"
#include "controller/store/tables.h"

namespace muster::v1 {
class BusyNodes;
class CreateRunRequest;
class Hello;
class PlanFile;
class PlanReceipt;
class RebootRequest;
class Run;
class StepProgress;
}  // namespace muster::v1

namespace muster::controller {

struct ActiveRun;
struct BundleApprovalRecord;

// The nodes that a run was refused for while others were free. Empty for all other errors.
std::vector<v1::BusyNodes> BusyNodesOf(const absl::Status& refused);

// The caller, and what entitles the run to continue without it.
struct RunActor : Actor {
  RunMandate mandate = {};
  std::string rollout_id = "";  // the rollout that the run is a part of; "": none
  // Variables that the controller gives, not the caller: no approval has to name them.
  std::set<std::string> own_variables = {};
};

// Every transition is stored before it is acted on; transitions that the store could not save are
// tried again at each Tick(). Not thread-safe: RunManager calls it from one thread at a time.
class RunEngine {
 public:
  // Schedules a compilation by CompilePlans(), to run soon and outside the engine; each batch comes
  // back through OnPlans().
  using CompileLater = std::function<void(PlayWork)>;

  // Without `compile_later`, plays are compiled at once, in the caller's thread.
  explicit RunEngine(RunCollaborators collaborators, CompileLater compile_later = nullptr);
  ~RunEngine();

  // Resumes the runs that an earlier process left. Call once, first.
  absl::Status Resume();
  // Checks the playbook, stores the run and starts it. Errors: those of the playbook and the limit,
  // with their place; FailedPrecondition when other work holds some of the nodes (BusyNodesOf()
  // tells which, when these are not all) and the request does not say to leave those out.
  absl::StatusOr<v1::Run> Create(const v1::CreateRunRequest& request, const RunActor& actor);
  // The nodes that such a run would work on, in the order of their first play. Has the errors of
  // Create(); stores and starts nothing.
  absl::StatusOr<std::vector<std::string>> Preview(const v1::CreateRunRequest& request,
                                                   const RunActor& actor);
  // The plan file in such a bundle. InvalidArgument: there is none, or it was damaged;
  // FailedPrecondition: it has expired, or was made for another cluster or another revision of the
  // inventory.
  absl::StatusOr<v1::PlanFile> PlanFileOf(const std::string& sha256) const;
  // FailedPrecondition: it has already ended.
  absl::Status Cancel(const std::string& run_id, const RunActor& actor);
  // The events for watchers; may be used without the engine.
  std::shared_ptr<const RunFeeds> feeds() const { return feeds_; }
  // For the threads that compile.
  std::shared_ptr<KeptFacts> kept_facts() const { return kept_facts_; }

  void OnConnected(const std::string& uuid, const v1::Hello& hello);
  void OnDisconnected(const std::string& uuid);
  // The facts that were requested as `request_id` are in the store; runs may have waited for them.
  void OnFacts(const std::string& uuid, const std::string& request_id,
               const absl::Status& refused = absl::OkStatus());
  // A command or a check has run on the node.
  void OnWorkedOn(const std::string& uuid) { facts_.Forget(uuid); }
  void OnPlanReceipt(const std::string& uuid, const v1::PlanReceipt& receipt);
  // Reports are stored together, and acknowledged once they are. Those of one node come in order.
  void OnReports(std::vector<NodeReport> reports);
  void OnProgress(const std::string& uuid, const v1::StepProgress& progress);
  void OnPlans(PlanBatch batch);
  // Answers at once, or not at all while the answer is not known: the agent asks again.
  void OnRebootRequest(const std::string& uuid, const v1::RebootRequest& request);
  // Call about every second.
  void Tick();

 private:
  // Prepares a run for the request after Complete(), ready to be created.
  absl::StatusOr<std::unique_ptr<ActiveRun>> PrepareNew(const v1::CreateRunRequest& asked,
                                                        const RunActor& actor,
                                                        const std::string& catches_up_run_id);
  absl::StatusOr<v1::Run> CreateCatchingUp(const v1::CreateRunRequest& request,
                                           const RunActor& actor,
                                           const std::string& catches_up_run_id);
  // The nodes of the run that other work holds, by holder.
  std::vector<v1::BusyNodes> BusyOf(const ActiveRun& run) const;
  // Those of the nodes that other work holds, runs that only check included.
  std::set<std::string> HeldOf(const std::vector<std::string>& nodes) const;
  // Leaves the busy nodes out, if the request wants that and other nodes remain. FailedPrecondition
  // as for Create().
  absl::Status LeaveOut(const std::vector<v1::BusyNodes>& busy, ActiveRun& run) const;
  absl::Status Claim(const ActiveRun& run) const;
  absl::StatusOr<v1::PlanFile> LoadPlanFile(const std::string& sha256) const;
  // The effective request: `request` itself, or the content of a plan file that still holds.
  absl::StatusOr<v1::CreateRunRequest> Complete(const v1::CreateRunRequest& request,
                                                const RunActor& actor,
                                                const InventoryVersion& inventory,
                                                bool catches_up) const;
  // Whether the actor may run that bundle; a catch-up run has the rights of whoever created the
  // missed run.
  absl::Status MayRun(const v1::CreateRunRequest& request, const RunActor& actor,
                      const std::string& catches_up_run_id);
  // The approval that an administrator gives by applying a whole playbook.
  std::optional<BundleApprovalRecord> ApprovalBy(const ActiveRun& run, const RunActor& actor) const;
  // What starts the run; a restart of musterd prepares its runs again.
  enum class StartedBy { kPerson, kController, kRestart };
  absl::StatusOr<std::unique_ptr<ActiveRun>> Prepare(RunRecord record, StartedBy started_by);
  absl::Status ResumeOne(const RunRecord& record);
  absl::Status StoreNew(const ActiveRun& run, const RunActor& actor);

  // run_actions.cc
  void Perform(ActiveRun& run, RunActions actions);
  absl::Status Persist(ActiveRun& run);
  absl::Status Carry(ActiveRun& run, const RunAction& action, RunActions& more);
  absl::StatusOr<std::map<std::string, NodeLink>> Links();
  absl::Status NextPlay(ActiveRun& run, uint32_t play, bool resumed, RunActions& more);
  absl::Status GatherFacts(ActiveRun& run, RunActions& more);
  absl::Status CompilePlay(ActiveRun& run, RunActions& more);
  absl::Status TakePlans(ActiveRun& run, PlanBatch batch, RunActions& more);
  absl::Status Finish(ActiveRun& run);
  void SendPlan(ActiveRun& run, const std::string& node);
  void SendCancel(const std::string& uuid, const std::string& plan_id);
  void PublishNodeFinished(ActiveRun& run, const std::string& node);
  void RemoveFinished();

  // run_reports.cc
  void OvertakeSequence(const std::string& uuid, uint64_t last_sequence);
  absl::Status HandleReports(absl::Span<const NodeReport> reports);

  ActiveRun* Find(absl::string_view run_id);

  const RunCollaborators with_;
  const CompileLater compile_later_;
  std::map<std::string, std::unique_ptr<ActiveRun>, std::less<>> active_;
  const std::shared_ptr<RunFeeds> feeds_ = std::make_shared<RunFeeds>();
  const std::shared_ptr<KeptFacts> kept_facts_;
  FactsFreshness facts_;
  RebootPermits reboots_;
  CatchUps catch_ups_;
  ReportInbox inbox_;
};

}  // namespace muster::controller
