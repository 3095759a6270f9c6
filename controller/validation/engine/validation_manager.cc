#include "controller/validation/engine/validation_manager.h"

#include <utility>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/session/facts_round.h"
#include "controller/validation/engine/admission.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller::validation {
namespace {

constexpr absl::Duration kTick = absl::Seconds(1);

}  // namespace

ValidationManager::ValidationManager(ValidationCollaborators collaborators)
    : with_(std::move(collaborators)),
      clock_(with_.clock),
      engine_(with_),
      worker_(clock_, [this] { return Step(); }) {}

ValidationManager::~ValidationManager() { Stop(); }

absl::Status ValidationManager::Start() {
  {
    absl::MutexLock lock(&engine_mutex_);
    RETURN_IF_ERROR(engine_.Resume());
  }
  worker_.Start();
  return absl::OkStatus();
}

void ValidationManager::Stop() { worker_.Stop(); }

absl::Time ValidationManager::Step() {
  NodeQueue<Event>::Batch events = queue_.Take();
  absl::MutexLock lock(&engine_mutex_);
  events.ForEach([this](Event& event) {
    engine_mutex_.AssertHeld();
    event(engine_);
  });
  engine_.Flush();
  // A clock that was set back does not stop the validations.
  const absl::Time now = clock_.Now();
  if (now < next_tick_ && next_tick_ - now <= kTick) return next_tick_;
  engine_.Tick();
  return next_tick_ = clock_.Now() + kTick;
}

void ValidationManager::Push(Event event) {
  if (worker_.is_stopping()) return;
  queue_.Push(std::move(event));
  worker_.Wake();
}

void ValidationManager::PushOf(absl::string_view node_uuid, size_t bytes, size_t part,
                               Event event) {
  if (worker_.is_stopping()) return;
  if (queue_.PushOf(node_uuid, bytes, std::move(event), part)) worker_.Wake();
}

absl::StatusOr<v1::Validation> ValidationManager::Create(const v1::CreateValidationRequest& request,
                                                         const Actor& actor,
                                                         const RunValidationRecord* asked_by) {
  // Without the engine: agents' reports wait neither for Slurm nor for the bundle.
  ASSIGN_OR_RETURN(Admission admission, Admission::Open(with_, request, actor));
  RETURN_IF_ERROR(admission.Hold());
  admission.BorrowWitness();
  absl::MutexLock lock(&engine_mutex_);
  return engine_.Begin(admission, actor, asked_by);
}

absl::Status ValidationManager::Cancel(const std::string& validation_id, const Actor& actor) {
  absl::MutexLock lock(&engine_mutex_);
  return engine_.Cancel(validation_id, actor);
}

absl::StatusOr<v1::Validation> ValidationManager::Get(const std::string& validation_id) {
  absl::MutexLock lock(&engine_mutex_);
  return engine_.Get(validation_id);
}

absl::StatusOr<std::shared_ptr<ValidationWatch>> ValidationManager::Watch(
    const std::string& validation_id, std::function<void()> on_ready) {
  if (watches_ended_) return absl::UnavailableError("the controller is stopping");
  absl::MutexLock lock(&engine_mutex_);
  ASSIGN_OR_RETURN(const std::shared_ptr<ValidationFeed> events, engine_.EventsOf(validation_id));
  return events->WatchFromNow(std::move(on_ready));
}

void ValidationManager::EndWatches() {
  watches_ended_ = true;
  absl::MutexLock lock(&engine_mutex_);
  engine_.BreakWatches();
}

void ValidationManager::OnConnected(absl::string_view node_uuid, const v1::Hello& hello) {
  const std::string uuid(node_uuid);
  Push([uuid, hello](ValidationEngine& e) { e.OnConnected(uuid, hello); });
}

void ValidationManager::OnDisconnected(absl::string_view node_uuid) {
  const std::string uuid(node_uuid);
  Push([uuid](ValidationEngine& e) { e.OnDisconnected(uuid); });
}

void ValidationManager::OnCheckUpdate(absl::string_view node_uuid, const v1::CheckUpdate& update) {
  const std::string uuid(node_uuid);
  PushOf(node_uuid, update.ByteSizeLong(), /*part=*/2,
         [uuid, update](ValidationEngine& e) { e.OnUpdate(uuid, update); });
}

void ValidationManager::OnCheckReport(absl::string_view node_uuid, const v1::CheckReport& report) {
  const std::string uuid(node_uuid);
  PushOf(node_uuid, report.ByteSizeLong(), /*part=*/1,
         [uuid, report](ValidationEngine& e) { e.OnReport(uuid, report); });
}

void ValidationManager::OnFactsStored(const std::string& node_uuid, const FactsRequest& request) {
  // No more of them than were asked for.
  Push([node_uuid, request](ValidationEngine& e) { e.OnFactsStored(node_uuid, request); });
}

}  // namespace muster::controller::validation
