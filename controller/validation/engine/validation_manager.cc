#include "controller/validation/engine/validation_manager.h"

#include <utility>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/validation/engine/active_validation.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller::validation {
namespace {

constexpr absl::Duration kTick = absl::Seconds(1);
// Tries, because nodes may get a job just when they are asked for: each costs two queries to Slurm.
constexpr int kMaxWitnessTries = 3;

}  // namespace

ValidationManager::ValidationManager(ValidationCollaborators collaborators)
    : with_(std::move(collaborators)), clock_(with_.clock), engine_(with_) {}

ValidationManager::~ValidationManager() { Stop(); }

absl::Status ValidationManager::Start() {
  {
    absl::MutexLock lock(&engine_mutex_);
    RETURN_IF_ERROR(engine_.Resume());
  }
  thread_ = std::thread([this] { Loop(); });
  return absl::OkStatus();
}

void ValidationManager::Stop() {
  {
    absl::MutexLock lock(&queue_mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void ValidationManager::Loop() {
  absl::Time next_tick = clock_.Now();
  while (true) {
    std::deque<Event> events;
    {
      absl::MutexLock lock(&queue_mutex_);
      clock_.AwaitUntil(queue_mutex_, absl::Condition(this, &ValidationManager::HasWork),
                        next_tick);
      if (stopping_) return;
      events.swap(queue_);
      shares_.clear();
      queued_bytes_ = 0;
    }
    absl::MutexLock lock(&engine_mutex_);
    for (const Event& event : events) event.handle(engine_);
    engine_.Settle();
    if (clock_.Now() < next_tick) continue;
    engine_.Tick();
    next_tick = clock_.Now() + kTick;
  }
}

void ValidationManager::Push(std::string node, size_t bytes, bool may_be_lost,
                             std::function<void(ValidationEngine&)> handle) {
  absl::MutexLock lock(&queue_mutex_);
  if (stopping_) return;
  Share& share = shares_[node];
  const size_t part = may_be_lost ? 2 : 1;
  if (bytes > 0 && (share.events >= kMaxQueuedOfNode / part ||
                    share.bytes + bytes > kMaxQueuedBytesOfNode / part ||
                    queued_bytes_ + bytes > kMaxQueuedBytes / part)) {
    return;
  }
  if (bytes > 0) ++share.events;
  share.bytes += bytes;
  queued_bytes_ += bytes;
  queue_.push_back({std::move(node), bytes, std::move(handle)});
}

absl::StatusOr<v1::Validation> ValidationManager::Create(const v1::CreateValidationRequest& request,
                                                         const ValidationActor& actor,
                                                         const RunValidationRecord* asked_by) {
  std::unique_ptr<ActiveValidation> admitted;
  {
    absl::MutexLock lock(&engine_mutex_);
    ASSIGN_OR_RETURN(admitted, engine_.Admit(request, actor));
  }
  const std::string id = admitted->record.validation_id;
  // Without the engine, so that agents' reports do not wait for Slurm.
  absl::Status held;
  if (with_.hold) {
    std::vector<std::string> nodes;
    for (const ValidationNode& node : admitted->state.nodes()) nodes.push_back(node.name);
    held = with_.hold(id, nodes, request.force());
  }
  if (held.ok()) BorrowWitness(admitted);
  absl::StatusOr<v1::Validation> begun;
  {
    absl::MutexLock lock(&engine_mutex_);
    if (held.ok()) {
      begun = engine_.Begin(std::move(admitted), actor, asked_by);
    } else {
      engine_.Drop(std::move(admitted));
      begun = held;
    }
  }
  if (with_.release) with_.release(id);
  return begun;
}

void ValidationManager::BorrowWitness(std::unique_ptr<ActiveValidation>& admitted) {
  std::vector<std::string> nodes;
  {
    absl::MutexLock lock(&engine_mutex_);
    nodes = engine_.WitnessesFor(*admitted);
  }
  if (nodes.empty()) return;
  if (with_.whom_to_borrow) nodes = with_.whom_to_borrow(nodes);
  int tries = 0;
  for (const std::string& node : nodes) {
    if (++tries > kMaxWitnessTries) return;
    {
      absl::MutexLock lock(&engine_mutex_);
      if (!engine_.ClaimWitness(*admitted, node).ok()) continue;
    }
    // Never by force: a witness's job takes precedence over somebody else's validation.
    absl::Status status;
    if (with_.hold) status = with_.hold(admitted->record.validation_id, {node}, /*force=*/false);
    absl::MutexLock lock(&engine_mutex_);
    if (status.ok()) status = engine_.AddWitness(node, admitted);
    if (status.ok()) return;
    engine_.ReleaseWitness(*admitted, node);
  }
}

absl::Status ValidationManager::Cancel(const std::string& validation_id,
                                       const ValidationActor& actor) {
  absl::MutexLock lock(&engine_mutex_);
  return engine_.Cancel(validation_id, actor);
}

absl::StatusOr<v1::Validation> ValidationManager::Get(const std::string& validation_id) {
  absl::MutexLock lock(&engine_mutex_);
  return engine_.Get(validation_id);
}

absl::StatusOr<std::shared_ptr<ValidationWatch>> ValidationManager::Watch(
    const std::string& validation_id, std::function<void()> on_ready) {
  if (watches_ended_) return absl::UnavailableError("the controller stops");
  absl::MutexLock lock(&engine_mutex_);
  ASSIGN_OR_RETURN(const std::shared_ptr<ValidationEvents> events, engine_.EventsOf(validation_id));
  return events->Watch(std::move(on_ready));
}

void ValidationManager::EndWatches() {
  watches_ended_ = true;
  absl::MutexLock lock(&engine_mutex_);
  engine_.BreakWatches();
}

void ValidationManager::OnConnected(absl::string_view node_uuid, const v1::Hello& hello) {
  const std::string uuid(node_uuid);
  Push(uuid, 0, false, [uuid, hello](ValidationEngine& e) { e.OnConnected(uuid, hello); });
}

void ValidationManager::OnDisconnected(absl::string_view node_uuid) {
  const std::string uuid(node_uuid);
  Push(uuid, 0, false, [uuid](ValidationEngine& e) { e.OnDisconnected(uuid); });
}

void ValidationManager::OnCheckUpdate(absl::string_view node_uuid, const v1::CheckUpdate& update) {
  const std::string uuid(node_uuid);
  Push(uuid, update.ByteSizeLong() + 1, true,
       [uuid, update](ValidationEngine& e) { e.OnUpdate(uuid, update); });
}

void ValidationManager::OnCheckReport(absl::string_view node_uuid, const v1::CheckReport& report) {
  const std::string uuid(node_uuid);
  Push(uuid, report.ByteSizeLong() + 1, false,
       [uuid, report](ValidationEngine& e) { e.OnReport(uuid, report); });
}

void ValidationManager::OnFactsStored(absl::string_view node_uuid, absl::string_view request_id) {
  if (!ParseFactsRequestId(request_id).has_value()) return;
  const std::string uuid(node_uuid), id(request_id);
  // There are no more of them than were requested.
  Push(uuid, 0, false, [uuid, id](ValidationEngine& e) { e.OnFactsStored(uuid, id); });
}

}  // namespace muster::controller::validation
