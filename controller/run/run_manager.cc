#include "controller/run/run_manager.h"

#include <utility>

#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "controller/run/run_history.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

constexpr absl::Duration kTick = absl::Seconds(1);
// Progress is dropped when the engine is this far behind; everything else is kept.
constexpr size_t kProgressRoom = 1000;

}  // namespace

RunManager::RunManager(RunCollaborators collaborators)
    : store_(collaborators.store),
      clock_(collaborators.clock),
      engine_(std::move(collaborators)),
      logs_(engine_.logs()) {}

RunManager::~RunManager() { Stop(); }

absl::Status RunManager::Start() {
  {
    absl::MutexLock lock(&engine_mutex_);
    RETURN_IF_ERROR(engine_.Resume());
  }
  thread_ = std::thread([this] { Loop(); });
  return absl::OkStatus();
}

void RunManager::Stop() {
  {
    absl::MutexLock lock(&queue_mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void RunManager::Loop() {
  absl::Time next_tick = clock_.Now();
  while (true) {
    std::deque<Event> events;
    {
      absl::MutexLock lock(&queue_mutex_);
      clock_.AwaitUntil(queue_mutex_, absl::Condition(this, &RunManager::HasWork), next_tick);
      if (stopping_) return;
      events.swap(queue_);
    }
    for (Event& event : events) {
      absl::MutexLock lock(&engine_mutex_);
      event(engine_);
    }
    if (clock_.Now() < next_tick) continue;
    absl::MutexLock lock(&engine_mutex_);
    engine_.Tick();
    next_tick = clock_.Now() + kTick;
  }
}

void RunManager::Push(Event event) {
  absl::MutexLock lock(&queue_mutex_);
  if (!stopping_) queue_.push_back(std::move(event));
}

absl::StatusOr<v1::Run> RunManager::Create(const v1::CreateRunRequest& request,
                                           const RunActor& actor) {
  absl::MutexLock lock(&engine_mutex_);
  return engine_.Create(request, actor);
}

absl::Status RunManager::Cancel(const std::string& run_id, const RunActor& actor) {
  absl::MutexLock lock(&engine_mutex_);
  return engine_.Cancel(run_id, actor);
}

absl::StatusOr<std::shared_ptr<RunWatch>> RunManager::Watch(const std::string& run_id,
                                                            uint64_t after_sequence,
                                                            std::function<void()> on_ready) {
  std::shared_ptr<RunEventLog> log = logs_->Find(run_id);
  if (log == nullptr) {
    ASSIGN_OR_RETURN(log, LogOfEndedRun(store_, run_id));
  }
  return log->Watch(after_sequence, std::move(on_ready));
}

bool RunManager::MayFetchBlob(absl::string_view uuid, absl::string_view sha256) {
  std::string named;
  const absl::Status read = store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().Get(uuid));
    named = node.plan_blobs;
    return absl::OkStatus();
  });
  if (!read.ok() || sha256.empty()) return false;
  for (const absl::string_view each : absl::StrSplit(named, ' ')) {
    if (each == sha256) return true;
  }
  return false;
}

void RunManager::OnConnected(absl::string_view node_uuid, const v1::Hello& hello) {
  Push([uuid = std::string(node_uuid), hello](RunEngine& e) { e.OnConnected(uuid, hello); });
}

void RunManager::OnDisconnected(absl::string_view node_uuid) {
  Push([uuid = std::string(node_uuid)](RunEngine& e) { e.OnDisconnected(uuid); });
}

void RunManager::OnFacts(absl::string_view node_uuid, const v1::FactsReport& report) {
  // Whom the facts are for is all that a run waits for; FactsKeeper has stored what they say.
  v1::FactsReport answer;
  answer.set_request_id(report.request_id());
  Push([uuid = std::string(node_uuid), answer](RunEngine& e) { e.OnFacts(uuid, answer); });
}

void RunManager::OnPlanReceipt(absl::string_view node_uuid, const v1::PlanReceipt& receipt) {
  Push([uuid = std::string(node_uuid), receipt](RunEngine& e) { e.OnPlanReceipt(uuid, receipt); });
}

void RunManager::OnReport(absl::string_view node_uuid, const v1::Report& report) {
  Push([uuid = std::string(node_uuid), report](RunEngine& e) { e.OnReport(uuid, report); });
}

void RunManager::OnProgress(absl::string_view node_uuid, const v1::StepProgress& progress) {
  absl::MutexLock lock(&queue_mutex_);
  if (stopping_ || queue_.size() >= kProgressRoom) return;
  queue_.push_back(
      [uuid = std::string(node_uuid), progress](RunEngine& e) { e.OnProgress(uuid, progress); });
}

}  // namespace muster::controller
