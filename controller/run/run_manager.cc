#include "controller/run/run_manager.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/plan_file.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

constexpr absl::Duration kTick = absl::Seconds(1);
// Progress is dropped when the engine is this far behind; everything else is kept.
constexpr size_t kProgressRoom = 1000;
// The engine is released for others after this many reports.
constexpr size_t kReportsTogether = 512;

}  // namespace

RunManager::RunManager(RunCollaborators collaborators)
    : with_(std::move(collaborators)),
      engine_(with_,
              [this](PlayWork work) {
                {
                  absl::MutexLock lock(&mutex_);
                  plays_.push_back(std::move(work));
                }
                any_compiler_.Wake();
                small_compiler_.Wake();
              }),
      feeds_(engine_.feeds()),
      kept_facts_(engine_.kept_facts()),
      history_(with_.store, with_.clock),
      worker_(with_.clock, [this] { return Step(); }),
      any_compiler_(with_.clock,
                    [this] { return CompileNext(std::numeric_limits<size_t>::max()); }),
      small_compiler_(with_.clock, [this] { return CompileNext(kPlanBatch); }) {}

RunManager::~RunManager() { Stop(); }

absl::Status RunManager::Start() {
  {
    absl::MutexLock lock(&engine_mutex_);
    RETURN_IF_ERROR(engine_.Resume());
  }
  for (Worker* worker : {&worker_, &any_compiler_, &small_compiler_}) worker->Start();
  return absl::OkStatus();
}

void RunManager::Stop() {
  const auto workers = {&worker_, &any_compiler_, &small_compiler_};
  for (Worker* worker : workers) worker->RequestStop();
  for (Worker* worker : workers) worker->Stop();
  history_.Stop();
}

absl::Time RunManager::Step() {
  Handle(queue_.Take());
  // A clock that was set back does not stop the runs.
  const absl::Time now = with_.clock.Now();
  if (now < next_tick_ && next_tick_ - now <= kTick) return next_tick_;
  {
    absl::MutexLock lock(&engine_mutex_);
    engine_.Tick();
  }
  return next_tick_ = with_.clock.Now() + kTick;
}

// Reports wait for each other. Only what the same node said later makes them hurry: its order is
// kept, that between nodes means nothing.
void RunManager::Handle(Queue::Batch events) {
  std::vector<NodeReport> reports;
  absl::flat_hash_set<std::string> reporters;
  const auto store = [&] {
    if (reports.empty()) return;
    absl::MutexLock lock(&engine_mutex_);
    engine_.OnReports(std::exchange(reports, {}));
    reporters.clear();
  };
  events.ForEach([&](Event& event) {
    if (const auto message = std::exchange(event.reports, nullptr); message != nullptr) {
      reporters.insert(event.about);
      for (const v1::Report& each : message->reports())
        reports.push_back({event.about, {message, &each}});
      if (reports.size() >= kReportsTogether) store();
      return;
    }
    if (reporters.contains(event.about)) store();
    absl::MutexLock lock(&engine_mutex_);
    event.handle(engine_);
  });
  store();
}

std::optional<PlayWork> RunManager::NextPlay(size_t most_nodes) {
  absl::MutexLock lock(&mutex_);
  const auto next = std::find_if(plays_.begin(), plays_.end(), [&](const PlayWork& work) {
    return work.nodes.size() <= most_nodes;
  });
  if (next == plays_.end()) return std::nullopt;
  PlayWork work = std::move(*next);
  plays_.erase(next);
  return work;
}

absl::Time RunManager::CompileNext(size_t most_nodes) {
  const std::optional<PlayWork> work = NextPlay(most_nodes);
  if (!work.has_value()) return absl::InfiniteFuture();
  // The next batch is begun when the engine has taken this one.
  CompilePlans(with_, *kept_facts_, *work, [this](PlanBatch batch) {
    absl::MutexLock lock(&engine_mutex_);
    engine_.OnPlans(std::move(batch));
    return !worker_.is_stopping();
  });
  return absl::InfinitePast();
}

void RunManager::Push(Event event) {
  if (worker_.is_stopping()) return;
  queue_.Push(std::move(event));
  worker_.Wake();
}

void RunManager::PushOf(absl::string_view node_uuid, size_t bytes, Event event) {
  if (worker_.is_stopping()) return;
  {
    absl::MutexLock lock(&mutex_);
    // Nothing behind a report that was dropped: what is stored is acknowledged up to its sequence.
    if (cut_off_.contains(node_uuid)) return;
    if (queue_.PushOf(node_uuid, bytes, std::move(event))) {
      worker_.Wake();
      return;
    }
    cut_off_.emplace(node_uuid);
  }
  with_.sessions.Disconnect(
      node_uuid, absl::ResourceExhaustedError("this node sent more than can be handled"));
}

absl::StatusOr<v1::Run> RunManager::Create(const v1::CreateRunRequest& request,
                                           const RunActor& actor) {
  absl::MutexLock lock(&engine_mutex_);
  return engine_.Create(request, actor);
}

absl::StatusOr<std::vector<std::string>> RunManager::Preview(const v1::CreateRunRequest& request,
                                                             const RunActor& actor) {
  absl::MutexLock lock(&engine_mutex_);
  return engine_.Preview(request, actor);
}

absl::StatusOr<v1::PlanFile> RunManager::PlanFileOf(const std::string& sha256) {
  absl::MutexLock lock(&engine_mutex_);
  return engine_.PlanFileOf(sha256);
}

absl::Status RunManager::Cancel(const std::string& run_id, const RunActor& actor) {
  absl::MutexLock lock(&engine_mutex_);
  return engine_.Cancel(run_id, actor);
}

absl::StatusOr<std::shared_ptr<RunWatch>> RunManager::Watch(const std::string& run_id,
                                                            uint64_t after_sequence,
                                                            std::function<void()> on_ready,
                                                            FeedPart part) {
  if (watches_ended_) return absl::UnavailableError("the controller is stopping");
  const std::shared_ptr<RunFeed> log = feeds_->Find(run_id);
  if (log == nullptr) return history_.Watch(run_id, after_sequence, std::move(on_ready), part);
  return log->Watch(after_sequence, std::move(on_ready), part);
}

void RunManager::EndWatches() {
  watches_ended_ = true;
  feeds_->BreakAll();
  history_.BreakAll();
}

bool RunManager::MayFetchBlob(absl::string_view uuid, absl::string_view sha256) {
  if (sha256.empty()) return false;
  bool is_named = false;
  const absl::Status read = with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<OpenPlanRecord> plans, txn.open_plans().List(uuid));
    for (const OpenPlanRecord& plan : plans) {
      for (const absl::string_view each : absl::StrSplit(plan.blobs, ' '))
        is_named = is_named || each == sha256;
    }
    return absl::OkStatus();
  });
  return read.ok() && is_named;
}

void RunManager::OnConnected(absl::string_view node_uuid, const v1::Hello& hello) {
  std::string uuid(node_uuid);
  {
    absl::MutexLock lock(&mutex_);
    if (const auto node = cut_off_.find(node_uuid); node != cut_off_.end()) cut_off_.erase(node);
  }
  Push({{}, uuid, [uuid, hello](RunEngine& e) { e.OnConnected(uuid, hello); }});
}

void RunManager::OnDisconnected(absl::string_view node_uuid) {
  std::string uuid(node_uuid);
  Push({{}, uuid, [uuid](RunEngine& e) { e.OnDisconnected(uuid); }});
}

void RunManager::OnFactsAnswered(const std::string& node_uuid, const std::string& plan_id,
                                 const absl::Status& refused) {
  Push({{}, "", [node_uuid, plan_id, refused](RunEngine& e) {
          e.OnFacts(node_uuid, plan_id, refused);
        }});
}

void RunManager::OnPlanReceipt(absl::string_view node_uuid, const v1::PlanReceipt& receipt) {
  std::string uuid(node_uuid);
  PushOf(node_uuid, receipt.SpaceUsedLong(),
         {{}, uuid, [uuid, receipt](RunEngine& e) { e.OnPlanReceipt(uuid, receipt); }});
}

void RunManager::OnReports(absl::string_view node_uuid,
                           const std::shared_ptr<const v1::Reports>& reports) {
  // Their size in memory, not their size on the wire: two bytes can become a hundred.
  PushOf(node_uuid, reports->SpaceUsedLong(), {reports, std::string(node_uuid), nullptr});
}

void RunManager::OnProgress(absl::string_view node_uuid, const v1::StepProgress& progress) {
  if (worker_.is_stopping() || queue_.size() >= kProgressRoom) return;
  absl::MutexLock lock(&mutex_);
  if (cut_off_.contains(node_uuid)) return;
  std::string uuid(node_uuid);
  // It may come before reports that wait for the store, and may be lost: half of the share is for
  // what must not be.
  if (queue_.PushOf(node_uuid, progress.SpaceUsedLong(),
                    {{}, "", [uuid, progress](RunEngine& e) { e.OnProgress(uuid, progress); }},
                    /*part=*/2)) {
    worker_.Wake();
  }
}

void RunManager::OnRebootRequest(absl::string_view node_uuid, const v1::RebootRequest& request) {
  std::string uuid(node_uuid);
  PushOf(node_uuid, request.SpaceUsedLong(),
         {{}, uuid, [uuid, request](RunEngine& e) { e.OnRebootRequest(uuid, request); }});
}

void RunManager::PushWorkedOn(absl::string_view node_uuid) {
  std::string uuid(node_uuid);
  PushOf(node_uuid, uuid.size(), {{}, "", [uuid](RunEngine& e) { e.OnWorkedOn(uuid); }});
}

void RunManager::OnCheckReport(absl::string_view node_uuid, const v1::CheckReport&) {
  PushWorkedOn(node_uuid);
}

void RunManager::OnCommandResult(absl::string_view node_uuid, const v1::CommandResult&) {
  PushWorkedOn(node_uuid);
}

}  // namespace muster::controller
