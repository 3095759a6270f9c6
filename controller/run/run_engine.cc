#include "controller/run/run_engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/value/json_text.h"
#include "common/value/plan_file.h"
#include "controller/artifact/bundle_approvals.h"
#include "controller/audit/audit.h"
#include "controller/claim/node_claims.h"
#include "controller/playbook/compile/owners.h"
#include "controller/run/active_run.h"
#include "controller/run/plan/plan_finish.h"
#include "controller/run/plan/values_of_facts.h"
#include "controller/run/run_history.h"
#include "controller/run/run_records.h"
#include "muster/v1/plan_file.pb.h"

namespace muster::controller {
namespace {

// Events of an earlier process that are not in the store had sequences too.
constexpr uint64_t kSequenceGap = 100'000;
// The payload of an error: a serialized CreateRunResponse with `busy`.
constexpr char kBusyPayload[] = "muster/busy-nodes";

// "12s", "3m".
std::string Ago(absl::Duration age) {
  if (age < absl::Minutes(2)) return absl::StrCat(absl::ToInt64Seconds(age), "s");
  if (age < absl::Hours(2)) return absl::StrCat(absl::ToInt64Minutes(age), "m");
  return absl::StrCat(absl::ToInt64Hours(age), "h");
}

absl::StatusOr<CompileOptions> OptionsOf(const v1::CreateRunRequest& request) {
  CompileOptions options;
  options.limit = request.limit();
  options.tags.assign(request.tags().begin(), request.tags().end());
  options.check_only = request.check_only();
  options.want_diff = request.want_diff();
  for (const auto& [name, text] : request.extra_vars()) {
    ASSIGN_OR_RETURN(options.extra_vars[name], ParseExtraVar(name, text));
  }
  return options;
}

// The nodes of all plays, in the order of their first play.
absl::StatusOr<std::vector<RunNode>> SelectNodes(Compiler& compiler, const Playbook& playbook,
                                                 size_t play_count, const Inventory& inventory,
                                                 const std::string& limit) {
  std::vector<RunNode> nodes;
  std::map<std::string, size_t> index;
  for (size_t play = 0; play < play_count; ++play) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names,
                     compiler.SelectNodes(playbook, play, inventory, limit));
    for (const std::string& name : names) {
      const auto [it, inserted] = index.try_emplace(name, nodes.size());
      if (inserted) nodes.emplace_back().name = name;
      nodes[it->second].plays.insert(static_cast<uint32_t>(play));
    }
  }
  return nodes;
}

}  // namespace

RunEngine::RunEngine(RunCollaborators collaborators, CompileLater compile_later)
    : with_(std::move(collaborators)),
      compile_later_(std::move(compile_later)),
      kept_facts_(std::make_shared<KeptFacts>()),
      reboots_(
          with_,
          [this] {
            std::vector<const ActiveRun*> runs;
            for (const auto& [run_id, run] : active_) runs.push_back(run.get());
            return runs;
          },
          [this](ActiveRun& run, RunActions actions) { Perform(run, std::move(actions)); }),
      catch_ups_(
          with_, [this](const std::vector<std::string>& nodes) { return HeldOf(nodes); },
          [this](const v1::CreateRunRequest& request, const RunMandate& mandate,
                 const std::string& run_id) {
            return CreateCatchingUp(request, {ControllerActor(), mandate}, run_id).status();
          }),
      inbox_(with_.sessions,
             [this](absl::Span<const NodeReport> reports) { return HandleReports(reports); }) {}
RunEngine::~RunEngine() = default;

ActiveRun* RunEngine::Find(absl::string_view run_id) {
  const auto it = active_.find(std::string(run_id));
  return it == active_.end() ? nullptr : it->second.get();
}

absl::StatusOr<v1::PlanFile> RunEngine::LoadPlanFile(const std::string& sha256) const {
  absl::StatusOr<FileTree> bundle = with_.load_bundle(sha256);
  if (!bundle.ok()) return Annotate(bundle.status(), "plan file");
  const auto text = bundle->find(kPlanFileName);
  if (text == bundle->end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan file: bundle ", sha256, " has no ", kPlanFileName));
  }
  return ReadPlanFile(text->second);
}

absl::StatusOr<v1::PlanFile> RunEngine::PlanFileOf(const std::string& sha256) const {
  ASSIGN_OR_RETURN(v1::PlanFile file, LoadPlanFile(sha256));
  ASSIGN_OR_RETURN(const InventoryVersion inventory, with_.inventory.Latest());
  RETURN_IF_ERROR(CheckHolds(file, with_.cluster, inventory.revision, with_.clock.Now()));
  return file;
}

absl::StatusOr<v1::CreateRunRequest> RunEngine::Complete(const v1::CreateRunRequest& request,
                                                         const RunActor& actor,
                                                         const InventoryVersion& inventory,
                                                         bool catches_up) const {
  if (request.plan_sha256().empty()) return request;
  ASSIGN_OR_RETURN(const v1::PlanFile file, LoadPlanFile(request.plan_sha256()));
  // A rollout may take longer than its plan file is valid. That it was valid was seen when the
  // rollout began, and its nodes are held to the file's steps all the same.
  if (actor.rollout_id.empty())
    RETURN_IF_ERROR(CheckHolds(file, with_.cluster, inventory.revision, with_.clock.Now()));
  // The request of a missed run is already complete.
  if (catches_up) return request;
  if (file.has_rollout() && actor.rollout_id.empty() && !request.check_only()) {
    return absl::FailedPreconditionError(
        "the plan is one of a rollout, which drains nodes first; `muster update FILE` carries it "
        "out");
  }
  return RequestOfPlanFile(file, request);
}

absl::Status RunEngine::MayRun(const v1::CreateRunRequest& request, const RunActor& actor,
                               const std::string& catches_up_run_id) {
  if (with_.approvals == nullptr) return absl::OkStatus();
  std::string creator = actor.name;
  std::string missed = catches_up_run_id;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    while (!missed.empty()) {
      ASSIGN_OR_RETURN(const RunRecord run, txn.runs().Get(missed));
      creator = run.created_by;
      missed = run.catches_up_run_id;
    }
    return absl::OkStatus();
  }));
  BundleUse use = {request.bundle_sha256(),
                   request.playbook(),
                   {request.extra_vars().begin(), request.extra_vars().end()}};
  for (const std::string& name : actor.own_variables) use.variables.erase(name);
  return with_.approvals->MayRun(creator, use);
}

std::optional<BundleApprovalRecord> RunEngine::ApprovalBy(const ActiveRun& run,
                                                          const RunActor& actor) const {
  const v1::CreateRunRequest& request = run.request;
  if (with_.approvals == nullptr || !IsAppliedWhole(request)) return std::nullopt;
  return with_.approvals->ByRunning(actor.name, request.bundle_sha256(), request.playbook(),
                                    run.record.run_id);
}

// Prepares everything that follows from the record, even after a restart, and hence with the same
// bundle and the same revision of the inventory.
absl::StatusOr<std::unique_ptr<ActiveRun>> RunEngine::Prepare(RunRecord record,
                                                              StartedBy started_by) {
  const v1::CreateRunRequest request = RequestOf(record);
  ASSIGN_OR_RETURN(CompileOptions options, OptionsOf(request));
  if (with_.offer) options.offer = with_.offer();
  ASSIGN_OR_RETURN(std::shared_ptr<const Inventory> inventory,
                   with_.inventory.Get(record.inventory_revision));
  const bool is_held = !request.plan_sha256().empty();
  absl::StatusOr<FileTree> site = with_.load_bundle(request.bundle_sha256());
  if (!site.ok() && is_held) {
    return Annotate(
        site.status(),
        "the site that the plan was made from is gone; make a new plan with `muster plan`");
  }
  RETURN_IF_ERROR(site.status());
  ASSIGN_OR_RETURN(std::shared_ptr<const Playbook> playbook,
                   with_.compiler.Load(*site, request.playbook()));
  RETURN_IF_ERROR(with_.compiler.CheckTags(*playbook, options.tags));
  // Only a person can mend a name, and nodes that catch up must not wait for that.
  if (started_by == StartedBy::kPerson)
    RETURN_IF_ERROR(with_.compiler.CheckVariableNames(*site, *inventory, options));
  record.plays = with_.compiler.Plays(*playbook);
  ASSIGN_OR_RETURN(
      std::vector<RunNode> nodes,
      SelectNodes(with_.compiler, *playbook, record.plays.size(), *inventory, request.limit()));
  std::shared_ptr<const HeldPlan> held;
  if (is_held) {
    ASSIGN_OR_RETURN(const v1::PlanFile file, LoadPlanFile(request.plan_sha256()));
    ASSIGN_OR_RETURN(held, HeldPlan::Create(file));
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [&](const RunNode& node) {
                                 return std::none_of(
                                     node.plays.begin(), node.plays.end(),
                                     [&](uint32_t play) { return held->Has(play, node.name); });
                               }),
                nodes.end());
  }
  if (nodes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no play of ", request.playbook(), " names a node", is_held ? " of the plan file" : "",
        request.limit().empty() ? std::string("; see `muster inventory show`")
                                : absl::StrCat(" of --limit ", request.limit())));
  }
  std::vector<PlaybookEnding> endings;
  if (!request.skip_validation()) {
    ASSIGN_OR_RETURN(endings, with_.compiler.SelectEndings(*playbook, *inventory, request.limit(),
                                                           options.tags));
  }
  // The suites of a run in progress were valid when it began.
  for (size_t i = 0; started_by != StartedBy::kRestart && i < endings.size(); ++i) {
    if (!with_.check_ending) {
      return absl::FailedPreconditionError(
          absl::StrCat("play '", endings[i].play,
                       "' has a suite, and this controller does not run validations"));
    }
    RETURN_IF_ERROR(Annotate(with_.check_ending(*site, endings[i], inventory),
                             absl::StrCat("play '", endings[i].play, "'")));
  }
  const auto plays = static_cast<uint32_t>(record.plays.size());
  auto run = std::make_unique<ActiveRun>(std::move(record), RunState(std::move(nodes), plays), 0);
  run->request = request;
  run->options = std::move(options);
  if (plays > 1) run->options.owners = std::make_shared<RunOwners>();
  run->inventory = std::move(inventory);
  run->playbook = std::move(playbook);
  run->held = std::move(held);
  run->endings = std::move(endings);
  return run;
}

std::vector<v1::BusyNodes> RunEngine::BusyOf(const ActiveRun& wanted) const {
  std::vector<v1::BusyNodes> busy;
  const auto add = [&](std::vector<std::string> names, const std::string& reason) {
    v1::BusyNodes& entry = busy.emplace_back();
    entry.set_nodes(FoldHostlist(std::move(names)));
    entry.set_reason(reason);
  };
  for (const auto& [run_id, run] : active_) {
    std::vector<std::string> common;
    for (const RunNode& node : wanted.state.nodes()) {
      if (run->state.FindByName(node.name) != nullptr) common.push_back(node.name);
    }
    if (common.empty()) continue;
    const std::string names = FoldHostlist(common);
    const RunRecord& other = run->record;
    const absl::Duration age = with_.clock.Now() - other.created_at;
    const std::string since =
        absl::StrCat(absl::FormatTime("%H:%M:%S UTC", other.created_at, absl::UTCTimeZone()), ", ",
                     Ago(std::max(age, absl::ZeroDuration())), " ago");
    add(std::move(common),
        run->state.cancelling()
            ? absl::StrCat("run ", run_id, " of ", other.created_by, ", started at ", since,
                           ", is being cancelled; ", names,
                           " must first finish their current step: muster run watch ", run_id)
            : absl::StrCat("run ", run_id, " of ", other.created_by, " (", run->request.playbook(),
                           run->request.check_only() ? ", check" : "", ") has worked on ", names,
                           " since ", since, "; wait for it (muster run watch ", run_id,
                           "), cancel it (muster run cancel ", run_id,
                           "), or leave these nodes out (-l)"));
  }
  if (with_.claims == nullptr || wanted.request.check_only()) return busy;
  std::vector<std::string> names;
  for (const RunNode& node : wanted.state.nodes()) names.push_back(node.name);
  for (auto& [holder, held] : with_.claims->HoldersOf(names)) {
    // Runs have been reported already.
    if (active_.count(holder) > 0) continue;
    add(std::move(held.nodes), held.reason);
  }
  return busy;
}

std::set<std::string> RunEngine::HeldOf(const std::vector<std::string>& nodes) const {
  std::set<std::string> held;
  if (with_.claims != nullptr) held = with_.claims->HeldOf(nodes);
  for (const auto& [run_id, run] : active_) {
    for (const std::string& node : nodes) {
      if (run->state.FindByName(node) != nullptr) held.insert(node);
    }
  }
  return held;
}

absl::Status RunEngine::LeaveOut(const std::vector<v1::BusyNodes>& busy, ActiveRun& run) const {
  if (busy.empty()) return absl::OkStatus();
  std::set<std::string> names;
  for (const v1::BusyNodes& each : busy) {
    ASSIGN_OR_RETURN(const std::vector<std::string> held, ExpandHostlist(each.nodes()));
    names.insert(held.begin(), held.end());
  }
  std::vector<RunNode> rest;
  for (const RunNode& node : run.state.nodes()) {
    if (names.count(node.name) == 0) rest.push_back(node);
  }
  if (rest.empty() || !run.request.leave_out_busy()) {
    absl::Status refused = absl::FailedPreconditionError(busy.front().reason());
    if (!rest.empty()) {
      v1::CreateRunResponse list;
      list.mutable_busy()->Assign(busy.begin(), busy.end());
      refused.SetPayload(kBusyPayload, absl::Cord(list.SerializeAsString()));
    }
    return refused;
  }
  run.state = RunState(std::move(rest), static_cast<uint32_t>(run.record.plays.size()));
  run.request.mutable_left_out()->Assign(busy.begin(), busy.end());
  run.request.SerializeToString(&run.record.request);
  return absl::OkStatus();
}

std::vector<v1::BusyNodes> BusyNodesOf(const absl::Status& refused) {
  v1::CreateRunResponse list;
  const auto payload = refused.GetPayload(kBusyPayload);
  if (payload.has_value()) list.ParseFromString(std::string(*payload));
  return {list.busy().begin(), list.busy().end()};
}

// A check changes nothing, so it does not hold nodes against validations.
absl::Status RunEngine::Claim(const ActiveRun& run) const {
  if (with_.claims == nullptr || run.request.check_only()) return absl::OkStatus();
  const std::string& id = run.record.run_id;
  std::vector<std::string> names;
  for (const RunNode& node : run.state.nodes()) names.push_back(node.name);
  return with_.claims->Claim({id,
                              absl::StrCat("run ", id, " of ", run.record.created_by, " (",
                                           run.request.playbook(), ") works on"),
                              absl::StrCat("wait for it (muster run watch ", id,
                                           "), cancel it (muster run cancel ", id, ")"),
                              run.record.created_at},
                             names);
}

absl::StatusOr<v1::Run> RunEngine::Create(const v1::CreateRunRequest& request,
                                          const RunActor& actor) {
  return CreateCatchingUp(request, actor, "");
}

absl::StatusOr<std::vector<std::string>> RunEngine::Preview(const v1::CreateRunRequest& request,
                                                            const RunActor& actor) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ActiveRun> run, PrepareNew(request, actor, ""));
  std::vector<std::string> names;
  for (const RunNode& node : run->state.nodes()) names.push_back(node.name);
  return names;
}

absl::StatusOr<std::unique_ptr<ActiveRun>> RunEngine::PrepareNew(
    const v1::CreateRunRequest& asked, const RunActor& actor,
    const std::string& catches_up_run_id) {
  ASSIGN_OR_RETURN(const InventoryVersion inventory, with_.inventory.Latest());
  ASSIGN_OR_RETURN(v1::CreateRunRequest request,
                   Complete(asked, actor, inventory, !catches_up_run_id.empty()));
  request.clear_left_out();
  RETURN_IF_ERROR(MayRun(request, actor, catches_up_run_id));
  RunRecord record;
  record.run_id = NewShortId("r");
  request.SerializeToString(&record.request);
  record.created_by = actor.name;
  record.created_at = with_.clock.Now();
  record.inventory_revision = inventory.revision;
  record.catches_up_run_id = catches_up_run_id;
  record.mandate = actor.mandate;
  const bool is_chosen =
      IsAppliedWhole(request) && actor.rollout_id.empty() && catches_up_run_id.empty();
  record.applies = is_chosen ? request.playbook() : "";
  // The controller has no address: it begins catch-ups, repairs, and the runs of rollouts.
  return Prepare(std::move(record),
                 actor.peer.empty() ? StartedBy::kController : StartedBy::kPerson);
}

absl::StatusOr<v1::Run> RunEngine::CreateCatchingUp(const v1::CreateRunRequest& asked,
                                                    const RunActor& actor,
                                                    const std::string& catches_up_run_id) {
  ASSIGN_OR_RETURN(std::unique_ptr<ActiveRun> prepared,
                   PrepareNew(asked, actor, catches_up_run_id));
  RETURN_IF_ERROR(LeaveOut(BusyOf(*prepared), *prepared));
  RETURN_IF_ERROR(Claim(*prepared));
  if (const absl::Status stored = StoreNew(*prepared, actor); !stored.ok()) {
    if (with_.claims != nullptr) with_.claims->Release(prepared->record.run_id);
    return stored;
  }
  ActiveRun& run = *prepared;
  feeds_->Add(run.record.run_id, run.log);
  active_[run.record.run_id] = std::move(prepared);

  std::vector<RunNodeRecord> nodes;
  for (const RunNode& node : run.state.nodes()) {
    nodes.push_back(ToRecord(run.record.run_id, node));
  }
  const v1::Run answer = ToProto(run.record, nodes);
  Perform(run, {{RunAction::kNextPlay, "", 0}});
  RemoveFinished();
  return answer;
}

absl::Status RunEngine::StoreNew(const ActiveRun& run, const RunActor& actor) {
  const std::optional<BundleApprovalRecord> approval = ApprovalBy(run, actor);
  return with_.store.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.runs().Put(run.record));
    if (approval.has_value()) RETURN_IF_ERROR(BundleApprovals::Keep(txn, *approval));
    std::vector<std::string> names;
    for (const RunNode& node : run.state.nodes()) {
      names.push_back(node.name);
      RETURN_IF_ERROR(txn.runs().PutNode(ToRecord(run.record.run_id, node)));
      if (run.request.check_only()) continue;
      absl::StatusOr<NodeRecord> enrolled = txn.nodes().GetByName(node.name);
      if (absl::IsNotFound(enrolled.status())) continue;
      RETURN_IF_ERROR(enrolled.status());
      enrolled->last_run_id = run.record.run_id;
      enrolled->last_run_result.clear();
      RETURN_IF_ERROR(txn.nodes().Put(*enrolled));
    }
    return Audit(txn, run.record.created_at, actor, "run.create", run.record.run_id,
                 absl::StrCat(run.request.playbook(), run.request.check_only() ? " (check)" : "",
                              " on ", FoldHostlist(std::move(names))));
  });
}

absl::Status RunEngine::Cancel(const std::string& run_id, const RunActor& actor) {
  ActiveRun* run = Find(run_id);
  if (run == nullptr) {
    RETURN_IF_ERROR(
        with_.store.View([&](Transaction& txn) { return txn.runs().Get(run_id).status(); }));
    return absl::FailedPreconditionError(absl::StrCat("run ", run_id, " has already ended"));
  }
  if (run->state.cancelling()) return absl::OkStatus();
  RunRecord record = run->record;
  record.message = absl::StrCat(kCancelledBy, actor.name);
  RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.runs().Put(record));
    return Audit(txn, with_.clock.Now(), actor, "run.cancel", run_id);
  }));
  run->record = std::move(record);
  Perform(*run, run->state.Cancel());
  RemoveFinished();
  return absl::OkStatus();
}

absl::Status RunEngine::Resume() {
  std::vector<RunRecord> records;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(records, txn.runs().ListRunning());
    return absl::OkStatus();
  }));
  for (const RunRecord& record : records) {
    const absl::Status status = ResumeOne(record);
    if (status.ok()) continue;
    // Another process has locked the store for a moment, which is not the run's fault. The start is
    // tried again.
    if (absl::IsUnavailable(status)) return status;
    // A run whose bundle is lost must not keep the controller from starting.
    active_.erase(record.run_id);
    if (with_.claims != nullptr) with_.claims->Release(record.run_id);
    reboots_.TakeBackAll(record.run_id);
    RunRecord failed = record;
    failed.state = RunRecord::kFailed;
    failed.finished_at = with_.clock.Now();
    failed.message =
        absl::StrCat("could not continue after a restart of the controller: ",
                     absl::string_view(status.message().data(), status.message().size()));
    RETURN_IF_ERROR(with_.store.Update([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(txn.runs().Put(failed));
      RETURN_IF_ERROR(RebootPermits::FreeAll(txn, failed.run_id));
      return Audit(txn, *failed.finished_at, ControllerActor(), "run.finish", failed.run_id,
                   failed.message);
    }));
  }
  RemoveFinished();
  return absl::OkStatus();
}

absl::Status RunEngine::ResumeOne(const RunRecord& record) {
  std::vector<RunNodeRecord> rows;
  std::vector<StepResultRecord> results;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(rows, txn.runs().ListNodes(record.run_id));
    ASSIGN_OR_RETURN(results, txn.step_results().ListNewest(record.run_id, kRunRetention.max_events,
                                                            kRunRetention.max_bytes));
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(std::unique_ptr<ActiveRun> prepared, Prepare(record, StartedBy::kRestart));
  std::vector<RunNode> nodes;
  for (const RunNodeRecord& row : rows) {
    RunNode node = ToRunNode(row);
    const RunNode* selected = prepared->state.FindByName(row.node);
    if (selected != nullptr) node.plays = selected->plays;
    nodes.push_back(std::move(node));
  }
  RETURN_IF_ERROR(reboots_.Resume(*prepared, nodes));
  prepared->state = RunState(std::move(nodes), static_cast<uint32_t>(record.plays.size()));
  const uint64_t last = results.empty() ? 0 : results.back().sequence;
  prepared->log = std::make_shared<RunFeed>(kRunRetention, last + kSequenceGap);
  for (const StepResultRecord& result : results) AppendStep(result, *prepared->log);
  ActiveRun& run = *prepared;
  // After a restart, runs claim before validations do.
  RETURN_IF_ERROR(Claim(run));
  feeds_->Add(record.run_id, run.log);
  active_[record.run_id] = std::move(prepared);
  RunActions actions;
  RETURN_IF_ERROR(NextPlay(run, record.current_play, /*resumed=*/true, actions));
  if (absl::StartsWith(record.message, kCancelledBy)) {
    for (RunAction& action : run.state.Cancel()) actions.push_back(std::move(action));
  }
  Perform(run, std::move(actions));
  return absl::OkStatus();
}

}  // namespace muster::controller
