#include "controller/session/agent_session.h"

#include <algorithm>
#include <utility>

#include <grpcpp/server_context.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/session/caller.h"
#include "controller/session/session_registry.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxHelloField = 128;
constexpr size_t kMaxRequestId = 256;
// Of each field of a question for a reboot; they go to the store and to the audit log.
constexpr size_t kMaxRebootField = 1024;
// A line of what goes on, which every watcher gets.
constexpr size_t kMaxProgressBytes = 64 * 1024;
constexpr int kMaxRunningJobs = 10'000;
// Of an answer about Slurm: texts, and nodes of each list.
constexpr size_t kMaxSlurmText = 1100;
constexpr int kMaxSlurmNodes = 4000;
// More than an agent keeps: those that run, and reports that wait for the controller.
constexpr int kMaxChecks = 256;
constexpr size_t kMaxCheckId = 256;
// Beyond it nothing is left to number plans with.
constexpr uint64_t kMaxSequence = uint64_t{1} << 62;

absl::Status CheckRebootRequest(const v1::RebootRequest& request) {
  const auto is_short = [](const std::string& text) { return text.size() <= kMaxRebootField; };
  if (is_short(request.plan_id()) && is_short(request.step_id()) && is_short(request.boot_id()) &&
      is_short(request.request_id()) && request.running_jobs_size() <= kMaxRunningJobs &&
      std::all_of(request.running_jobs().begin(), request.running_jobs().end(), is_short)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("a question for a reboot that no agent asks");
}

// More than an agent says; see muster/v1/slurm.proto.
absl::Status CheckSlurmAnswer(const v1::SlurmAnswer& answer) {
  const auto is_short = [](const std::string& text) { return text.size() <= kMaxSlurmText; };
  bool is_good = answer.request_id().size() <= kMaxRequestId && is_short(answer.message()) &&
                 answer.nodes().nodes_size() <= kMaxSlurmNodes &&
                 answer.changed().left_alone_size() <= kMaxSlurmNodes &&
                 answer.jobs().nodes_size() <= kMaxSlurmNodes;
  for (const v1::SlurmNode& node : answer.nodes().nodes()) {
    is_good = is_good && is_short(node.name()) && is_short(node.state()) &&
              is_short(node.reason()) && is_short(node.reason_user());
  }
  for (const v1::SlurmLeftAlone& node : answer.changed().left_alone()) {
    is_good = is_good && is_short(node.node()) && is_short(node.why());
  }
  int jobs = 0;
  for (const v1::SlurmNodeJobs& node : answer.jobs().nodes()) {
    jobs += node.job_ids_size();
    is_good = is_good && is_short(node.node()) && jobs <= kMaxRunningJobs &&
              std::all_of(node.job_ids().begin(), node.job_ids().end(), is_short);
  }
  if (is_good) return absl::OkStatus();
  return absl::InvalidArgumentError("an answer about Slurm that no agent gives");
}

class Refusal final : public AgentSession::Reactor {
 public:
  explicit Refusal(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

AgentSession::AgentSession(SessionRegistry& registry, grpc::CallbackServerContext* context,
                           std::string node_uuid)
    : registry_(registry),
      node_uuid_(std::move(node_uuid)),
      peer_(context->peer()),
      connected_at_(registry.clock().Now()),
      last_seen_(absl::ToUnixNanos(connected_at_)),
      context_(context) {}

AgentSession::Reactor* AgentSession::Begin(SessionRegistry& registry,
                                           grpc::CallbackServerContext* context,
                                           std::string node_uuid) {
  std::shared_ptr<AgentSession> session(new AgentSession(registry, context, std::move(node_uuid)));
  AgentSession* raw = session.get();
  raw->self_ = session;
  if (const absl::Status added = registry.Add(std::move(session)); !added.ok()) {
    raw->Close(added);
    return raw;
  }
  raw->StartRead(&raw->received_);
  return raw;
}

AgentSession::Reactor* AgentSession::Refuse(const absl::Status& status) {
  return new Refusal(status);
}

absl::Status AgentSession::Send(const v1::ControllerMessage& message) {
  const std::string serialized = message.SerializeAsString();
  const size_t bytes = serialized.size();
  const grpc::Slice slice(serialized);
  absl::MutexLock lock(&mutex_);
  if (is_finished_ || closing_.has_value())
    return absl::UnavailableError("the node's session is ending");
  if (queue_.size() >= kMaxQueuedMessages || queued_bytes_ + bytes > kMaxQueuedBytes)
    return absl::ResourceExhaustedError(absl::StrCat("the node does not read: ", queue_.size(),
                                                     " messages (", queued_bytes_, " bytes) wait"));
  facts_awaited_ += message.has_gather_facts();
  receipts_awaited_ += message.has_plan();
  slurm_answers_awaited_ += message.has_slurm_request();
  queue_.emplace_back(&slice, 1);
  queued_bytes_ += bytes;
  if (queue_.size() == 1) {
    writing_since_ = registry_.clock().Now();
    StartWrite(&queue_.front());
  }
  return absl::OkStatus();
}

void AgentSession::Close(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (is_finished_ || closing_.has_value()) return;
  if (queue_.empty()) {
    is_finished_ = true;
    Finish(ToGrpc(status));
    return;
  }
  // The write under way ends first. Nothing is read any more, so an agent that does not take it
  // falls silent, and the registry's sweep breaks the stream off.
  closing_ = status;
}

void AgentSession::Abort() {
  absl::MutexLock lock(&mutex_);
  if (!is_finished_) context_->TryCancel();
}

bool AgentSession::IsClosing() {
  absl::MutexLock lock(&mutex_);
  return closing_.has_value() && !is_finished_;
}

void AgentSession::OnReadDone(bool ok) {
  if (!ok) {  // the agent left, or the stream is over
    Close(absl::OkStatus());
    return;
  }
  last_seen_.store(absl::ToUnixNanos(registry_.clock().Now()));
  const size_t bytes = received_.Length();
  const absl::Status handled = bytes > kLargeMessageBytes ? TakeLarge() : Take();
  if (absl::IsInvalidArgument(handled) || absl::IsResourceExhausted(handled))
    registry_.Misbehaved(*this, handled);
  if (!handled.ok()) {
    Close(handled);
    return;
  }
  if (!Spend(bytes)) return;
  absl::MutexLock lock(&mutex_);
  ReadOn();
}

void AgentSession::ReadOn() {
  if (!is_finished_ && !closing_.has_value()) StartRead(&received_);
}

bool AgentSession::Spend(size_t bytes) {
  absl::MutexLock lock(&mutex_);
  messages_left_ -= messages_left_ > 0;
  bytes_left_ -= std::min(bytes_left_, bytes);
  is_paused_ = messages_left_ == 0 || bytes_left_ == 0;
  return !is_paused_;
}

absl::Status AgentSession::Refill(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (now - writing_since_ > kWriteTimeout) {
    return absl::DeadlineExceededError(
        absl::StrCat("the node has taken nothing for ", absl::FormatDuration(kWriteTimeout)));
  }
  messages_left_ = kMessagesPerSecond;
  bytes_left_ = kBytesPerSecond;
  if (!is_paused_) {
    flooded_seconds_ = 0;
    return absl::OkStatus();
  }
  if (++flooded_seconds_ >= kMaxFloodedSeconds) {
    return absl::ResourceExhaustedError(absl::StrCat("the node sends more than ",
                                                     kMessagesPerSecond, " messages or ",
                                                     kBytesPerSecond >> 20, " MiB a second"));
  }
  is_paused_ = false;
  ReadOn();
  return absl::OkStatus();
}

absl::Status AgentSession::TakeCredit() {
  absl::MutexLock lock(&mutex_);
  if (incoming_.has_facts()) {
    if (facts_awaited_ == 0) return absl::InvalidArgumentError("facts that nobody asked for");
    if (incoming_.facts().request_id().size() > kMaxRequestId)
      return absl::InvalidArgumentError("facts for a request that cannot have been made");
    --facts_awaited_;
  }
  if (incoming_.check_update().check_id().size() > kMaxCheckId ||
      incoming_.check_report().check_id().size() > kMaxCheckId) {
    return absl::InvalidArgumentError("a check that cannot have been started");
  }
  if (incoming_.has_plan_receipt()) {
    if (receipts_awaited_ == 0)
      return absl::InvalidArgumentError("a receipt for a plan that was not sent");
    --receipts_awaited_;
  }
  if (incoming_.has_slurm_answer()) {
    if (slurm_answers_awaited_ == 0)
      return absl::InvalidArgumentError("an answer about Slurm that nobody asked for");
    RETURN_IF_ERROR(CheckSlurmAnswer(incoming_.slurm_answer()));
    --slurm_answers_awaited_;
  }
  if (incoming_.has_progress() && incoming_.progress().ByteSizeLong() > kMaxProgressBytes)
    return absl::InvalidArgumentError("progress beyond all measure");
  if (incoming_.has_reboot_request()) return CheckRebootRequest(incoming_.reboot_request());
  return absl::OkStatus();
}

absl::Status AgentSession::Take() {
  absl::Status handled = Parse();
  received_.Clear();
  if (handled.ok()) handled = Handle();
  // Clear() alone keeps the parts of a large message, facts above all, for the next one: a fifth of
  // what a session takes.
  if (incoming_.has_heartbeat()) {
    incoming_.Clear();
  } else {
    incoming_ = v1::AgentMessage();
  }
  return handled;
}

absl::Status AgentSession::TakeLarge() {
  absl::MutexLock lock(&registry_.large_messages());
  return Take();
}

absl::Status AgentSession::Parse() {
  if (const size_t bytes = received_.Length(); bytes > kMaxMessageBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a message of ", bytes, " bytes; at most ", kMaxMessageBytes));
  }
  grpc::ProtoBufferReader reader(&received_);
  if (!reader.status().ok() || !incoming_.ParseFromZeroCopyStream(&reader))
    return absl::InvalidArgumentError("what came is no message of this protocol");
  return absl::OkStatus();
}

absl::Status AgentSession::Handle() {
  if (has_greeted_.load()) {
    if (incoming_.has_hello()) return absl::InvalidArgumentError("a second Hello");
    RETURN_IF_ERROR(TakeCredit());
    if (!incoming_.has_heartbeat()) registry_.Deliver(*this, incoming_);
    return absl::OkStatus();
  }
  if (!incoming_.has_hello()) return absl::InvalidArgumentError("the first message must be Hello");
  const v1::Hello& hello = incoming_.hello();
  if (hello.agent_version().size() > kMaxHelloField || hello.boot_id().size() > kMaxHelloField ||
      hello.active_plan_id().size() > kMaxHelloField || hello.boot_id().empty()) {
    return absl::InvalidArgumentError("Hello needs a boot_id and fields of at most 128 bytes");
  }
  if (hello.last_sequence() > kMaxSequence)
    return absl::InvalidArgumentError("Hello names a sequence that no controller has reached");
  if (hello.check_ids_size() > kMaxChecks ||
      std::any_of(hello.check_ids().begin(), hello.check_ids().end(),
                  [](const std::string& id) { return id.size() > kMaxCheckId; })) {
    return absl::InvalidArgumentError("Hello names checks that no controller has started");
  }
  agent_version_ = hello.agent_version();
  boot_id_ = hello.boot_id();
  has_greeted_.store(true);
  return registry_.Greet(shared_from_this(), hello);
}

void AgentSession::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  queued_bytes_ -= queue_.front().Length();
  queue_.pop_front();
  if (closing_.has_value() || !ok) {
    queue_.clear();
    queued_bytes_ = 0;
    if (is_finished_) return;
    is_finished_ = true;
    Finish(ToGrpc(closing_.value_or(absl::UnavailableError("the connection broke"))));
    return;
  }
  writing_since_ = queue_.empty() ? absl::InfiniteFuture() : registry_.clock().Now();
  if (!queue_.empty()) StartWrite(&queue_.front());
}

void AgentSession::OnCancel() { Close(absl::CancelledError("the agent left")); }

void AgentSession::OnDone() {
  registry_.Remove(*this);
  std::shared_ptr<AgentSession> last = std::move(self_);
  absl::MutexLock lock(&mutex_);
  context_ = nullptr;
}

}  // namespace muster::controller
