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
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

constexpr absl::Duration kTick = absl::Seconds(1);
// Progress is dropped when the engine is this far behind; everything else is kept.
constexpr size_t kProgressRoom = 1000;
// The engine is released for others after this many reports.
constexpr size_t kReportsTogether = 512;
// After a run over this many nodes, returning memory is worthwhile.
constexpr size_t kManyNodes = 100;

}  // namespace

RunManager::RunManager(RunCollaborators collaborators)
    : with_(std::move(collaborators)),
      engine_(with_,
              [this](PlayWork work) {
                absl::MutexLock lock(&queue_mutex_);
                plays_.push_back(std::move(work));
              }),
      logs_(engine_.logs()),
      history_(with_.store) {}

RunManager::~RunManager() { Stop(); }

absl::Status RunManager::Start() {
  {
    absl::MutexLock lock(&engine_mutex_);
    RETURN_IF_ERROR(engine_.Resume());
  }
  thread_ = std::thread([this] { Loop(); });
  for (const size_t most_nodes : {std::numeric_limits<size_t>::max(), kPlanBatch})
    compilers_.emplace_back([this, most_nodes] { CompileLoop(most_nodes); });
  return absl::OkStatus();
}

void RunManager::Stop() {
  {
    absl::MutexLock lock(&queue_mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
  for (std::thread& each : compilers_) {
    if (each.joinable()) each.join();
  }
  history_.Stop();
}

void RunManager::Loop() {
  absl::Time next_tick = with_.clock.Now();
  size_t most_nodes = 0;  // since memory was returned
  while (true) {
    std::deque<Event> events;
    {
      absl::MutexLock lock(&queue_mutex_);
      with_.clock.AwaitUntil(queue_mutex_, absl::Condition(this, &RunManager::HasWork), next_tick);
      if (stopping_) return;
      events.swap(queue_);
    }
    std::map<std::string, Share> charged;
    for (const Event& event : events) {
      if (event.sender.empty()) continue;
      Share& share = charged[event.sender];
      ++share.events;
      share.bytes += event.bytes;
    }
    Handle(std::move(events));
    Release(charged);
    if (with_.clock.Now() < next_tick) continue;
    size_t nodes = 0;
    {
      absl::MutexLock lock(&engine_mutex_);
      engine_.Tick();
      nodes = engine_.active_nodes();
    }
    most_nodes = std::max(most_nodes, nodes);
    if (nodes == 0 && std::exchange(most_nodes, 0) >= kManyNodes && with_.return_memory)
      with_.return_memory();
    next_tick = with_.clock.Now() + kTick;
  }
}

// Reports are collected. They are handled early only when a later event of the same node follows:
// the order of each node is kept, that between nodes means nothing.
void RunManager::Handle(std::deque<Event> events) {
  std::vector<NodeReport> reports;
  absl::flat_hash_set<std::string> reporters;
  const auto store = [&] {
    if (reports.empty()) return;
    absl::MutexLock lock(&engine_mutex_);
    engine_.OnReports(std::exchange(reports, {}));
    reporters.clear();
  };
  for (Event& event : events) {
    if (event.report.report != nullptr) {
      reporters.insert(event.report.uuid);
      reports.push_back(std::move(event.report));
      if (reports.size() >= kReportsTogether) store();
      continue;
    }
    if (reporters.contains(event.about)) store();
    absl::MutexLock lock(&engine_mutex_);
    event.handle(engine_);
  }
  store();
}

PlayWork RunManager::NextPlay(size_t most_nodes) {
  const auto next = std::find_if(plays_.begin(), plays_.end(), [&](const PlayWork& work) {
    return work.nodes.size() <= most_nodes;
  });
  PlayWork work = std::move(*next);
  plays_.erase(next);
  return work;
}

void RunManager::CompileLoop(size_t most_nodes) {
  const auto has_work = [this, most_nodes]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return stopping_ || std::any_of(plays_.begin(), plays_.end(), [&](const PlayWork& work) {
             return work.nodes.size() <= most_nodes;
           });
  };
  while (true) {
    PlayWork work;
    {
      absl::MutexLock lock(&queue_mutex_);
      queue_mutex_.Await(absl::Condition(&has_work));
      if (stopping_) return;
      work = NextPlay(most_nodes);
    }
    // The next batch begins when the engine has taken this one.
    CompilePlans(with_, work, [this](PlanBatch batch) {
      absl::MutexLock lock(&engine_mutex_);
      engine_.OnPlans(std::move(batch));
      return !IsStopping();
    });
    if (work.nodes.size() >= kManyNodes && with_.return_memory) with_.return_memory();
  }
}

void RunManager::Push(Event event) {
  absl::MutexLock lock(&queue_mutex_);
  if (!stopping_) queue_.push_back(std::move(event));
}

void RunManager::PushOf(absl::string_view node_uuid, size_t bytes, Event event) {
  {
    absl::MutexLock lock(&queue_mutex_);
    if (stopping_) return;
    Share& share = shares_[std::string(node_uuid)];
    // Accept nothing after a report that was dropped: storing acknowledges everything up to its
    // sequence.
    if (share.is_over) return;
    if (share.events < kMaxQueuedOfNode && share.bytes + bytes <= kMaxQueuedBytesOfNode) {
      ++share.events;
      share.bytes += bytes;
      event.sender = std::string(node_uuid);
      event.bytes = bytes;
      queue_.push_back(std::move(event));
      return;
    }
    share.is_over = true;
  }
  with_.sessions.Disconnect(
      node_uuid, absl::ResourceExhaustedError("more came from this node than can be handled"));
}

void RunManager::Release(const std::map<std::string, Share>& charged) {
  absl::MutexLock lock(&queue_mutex_);
  for (const auto& [node, part] : charged) {
    const auto share = shares_.find(node);
    share->second.events -= part.events;
    share->second.bytes -= part.bytes;
    if (share->second.events == 0 && !share->second.is_over) shares_.erase(share);
  }
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

absl::Status RunManager::Cancel(const std::string& run_id, const RunActor& actor) {
  absl::MutexLock lock(&engine_mutex_);
  return engine_.Cancel(run_id, actor);
}

absl::StatusOr<std::shared_ptr<RunWatch>> RunManager::Watch(const std::string& run_id,
                                                            uint64_t after_sequence,
                                                            std::function<void()> on_ready) {
  if (watches_ended_) return absl::UnavailableError("the controller stops");
  const std::shared_ptr<RunEventLog> log = logs_->Find(run_id);
  if (log == nullptr) return history_.Watch(run_id, after_sequence, std::move(on_ready));
  return log->Watch(after_sequence, std::move(on_ready));
}

void RunManager::EndWatches() {
  watches_ended_ = true;
  logs_->BreakAll();
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
    absl::MutexLock lock(&queue_mutex_);
    const auto share = shares_.find(node_uuid);
    if (share != shares_.end()) share->second.is_over = false;
  }
  Push({{}, uuid, [uuid, hello](RunEngine& e) { e.OnConnected(uuid, hello); }});
}

void RunManager::OnDisconnected(absl::string_view node_uuid) {
  std::string uuid(node_uuid);
  Push({{}, uuid, [uuid](RunEngine& e) { e.OnDisconnected(uuid); }});
}

void RunManager::FactsStored(const std::string& node_uuid, const std::string& request_id) {
  Push({{}, "", [node_uuid, request_id](RunEngine& e) { e.OnFacts(node_uuid, request_id); }});
}

void RunManager::FactsRefused(const std::string& node_uuid, const std::string& request_id,
                              const absl::Status& why) {
  Push({{}, "", [node_uuid, request_id, why](RunEngine& e) {
          e.OnFacts(node_uuid, request_id, why);
        }});
}

void RunManager::OnPlanReceipt(absl::string_view node_uuid, const v1::PlanReceipt& receipt) {
  std::string uuid(node_uuid);
  PushOf(node_uuid, receipt.SpaceUsedLong(),
         {{}, uuid, [uuid, receipt](RunEngine& e) { e.OnPlanReceipt(uuid, receipt); }});
}

void RunManager::OnReport(absl::string_view node_uuid, const v1::Report& report) {
  // Its size in memory, not its size on the wire: two bytes can become a hundred.
  PushOf(node_uuid, report.SpaceUsedLong(),
         {{std::string(node_uuid), std::make_shared<const v1::Report>(report)}, "", nullptr});
}

void RunManager::OnProgress(absl::string_view node_uuid, const v1::StepProgress& progress) {
  absl::MutexLock lock(&queue_mutex_);
  if (stopping_ || queue_.size() >= kProgressRoom) return;
  // At most half of its share: the rest is for events that must not be lost.
  const size_t bytes = progress.SpaceUsedLong();
  Share& share = shares_[std::string(node_uuid)];
  if (share.is_over || share.events >= kMaxQueuedOfNode / 2 ||
      share.bytes + bytes > kMaxQueuedBytesOfNode / 2) {
    return;
  }
  ++share.events;
  share.bytes += bytes;
  std::string uuid(node_uuid);
  // It may overtake reports that wait for the store.
  queue_.push_back(
      {{}, "", [uuid, progress](RunEngine& e) { e.OnProgress(uuid, progress); }, uuid, bytes});
}

void RunManager::OnRebootRequest(absl::string_view node_uuid, const v1::RebootRequest& request) {
  std::string uuid(node_uuid);
  PushOf(node_uuid, request.SpaceUsedLong(),
         {{}, uuid, [uuid, request](RunEngine& e) { e.OnRebootRequest(uuid, request); }});
}

}  // namespace muster::controller
