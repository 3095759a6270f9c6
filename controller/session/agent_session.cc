#include "controller/session/agent_session.h"

#include <algorithm>
#include <utility>

#include <grpcpp/server_context.h>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/protocol.h"
#include "common/base/status.h"
#include "controller/session/caller.h"
#include "controller/session/intake.h"
#include "controller/session/refusal.h"
#include "controller/session/session_registry.h"

namespace muster::controller {
namespace {

// Beyond this, no numbers would be left for plans.
constexpr uint64_t kMaxSequence = uint64_t{1} << 62;

// A slice of the bytes where they lie, which keeps them until gRPC has released its last copy.
grpc::Slice Borrow(std::shared_ptr<const std::string> bytes) {
  auto held = std::make_unique<std::shared_ptr<const std::string>>(std::move(bytes));
  const std::string& text = **held;
  const auto release = [](void* last) {
    delete static_cast<std::shared_ptr<const std::string>*>(last);
  };
  // gRPC only reads it, although its interface does not take a pointer to const.
  return grpc::Slice(const_cast<char*>(text.data()), text.size(), release, held.release());
}

}  // namespace

AgentSession::AgentSession(SessionRegistry& registry, grpc::CallbackServerContext* context,
                           std::string node_uuid, bool must_renew)
    : registry_(registry),
      node_uuid_(std::move(node_uuid)),
      peer_(context->peer()),
      must_renew_(must_renew),
      connected_at_(registry.clock().Now()),
      last_seen_(absl::ToUnixNanos(connected_at_)),
      context_(context) {}

AgentSession::Reactor* AgentSession::Begin(SessionRegistry& registry, OpenCalls& calls,
                                           grpc::CallbackServerContext* context,
                                           const Identity& node, bool must_renew) {
  std::shared_ptr<AgentSession> session(new AgentSession(registry, context, node.name, must_renew));
  AgentSession* raw = session.get();
  raw->self_ = session;
  raw->open_call_ = calls.Add(node, [raw](const absl::Status& why) {
    if (raw->IsClosing()) raw->Abort();  // closed before, and the peer accepts nothing
    raw->Close(why);
  });
  if (const absl::Status added = registry.Add(std::move(session)); !added.ok()) {
    raw->Close(added);
    return raw;
  }
  // A sweep may have ended it meanwhile.
  absl::MutexLock lock(&raw->mutex_);
  raw->ReadOn();
  return raw;
}

AgentSession::Reactor* AgentSession::Refuse(const absl::Status& status) {
  return new Refusal<Reactor>(status);
}

absl::Status AgentSession::Send(const v1::ControllerMessage& message) {
  return Enqueue(grpc::Slice(message.SerializeAsString()), message.message_case());
}

absl::Status AgentSession::SendPlan(std::shared_ptr<const std::string> message) {
  return Enqueue(Borrow(std::move(message)), v1::ControllerMessage::kPlan);
}

absl::Status AgentSession::Enqueue(const grpc::Slice& slice,
                                   v1::ControllerMessage::MessageCase kind) {
  const size_t bytes = slice.size();
  absl::MutexLock lock(&mutex_);
  if (is_finished_ || closing_.has_value())
    return absl::UnavailableError("the node's session is ending");
  if (queue_.size() >= kMaxQueuedMessages || queued_bytes_ + bytes > kMaxQueuedBytes)
    return absl::ResourceExhaustedError(absl::StrCat("the node does not read: ", queue_.size(),
                                                     " messages (", queued_bytes_, " bytes) wait"));
  facts_awaited_ += kind == v1::ControllerMessage::kGatherFacts;
  receipts_awaited_ += kind == v1::ControllerMessage::kPlan;
  slurm_answers_awaited_ += kind == v1::ControllerMessage::kSlurmRequest;
  command_results_awaited_ += kind == v1::ControllerMessage::kStartCommand;
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
  // The write in progress ends first. Nothing is read any more, so an agent that does not accept it
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
  if (!ok) {  // the agent has left, or the stream is over
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

absl::Status AgentSession::Refill(absl::Time now, absl::Time resumed_at) {
  absl::MutexLock lock(&mutex_);
  if (now - std::max(writing_since_, resumed_at) > kWriteTimeout) {
    return absl::DeadlineExceededError(
        absl::StrCat("the node has read nothing for ", absl::FormatDuration(kWriteTimeout)));
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
    if (facts_awaited_ == 0) return absl::InvalidArgumentError("facts that were not requested");
    --facts_awaited_;
  }
  if (incoming_.has_plan_receipt()) {
    if (receipts_awaited_ == 0)
      return absl::InvalidArgumentError("a receipt for a plan that was not sent");
    --receipts_awaited_;
  }
  if (incoming_.has_slurm_answer()) {
    if (slurm_answers_awaited_ == 0)
      return absl::InvalidArgumentError("an answer about Slurm that was not requested");
    --slurm_answers_awaited_;
  }
  if (incoming_.has_command_result()) {
    if (command_results_awaited_ == 0)
      return absl::InvalidArgumentError("the result of a command that was not sent");
    --command_results_awaited_;
  }
  return absl::OkStatus();
}

absl::Status AgentSession::Take() {
  absl::Status handled = ReadAgentMessage(received_, incoming_);
  received_.Clear();
  if (handled.ok()) handled = Handle();
  // Clear() alone would keep the parts of a large message, above all facts, for the next one: a
  // fifth of a session's memory.
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

absl::Status AgentSession::Handle() {
  if (has_greeted_.load()) {
    if (incoming_.has_hello()) return absl::InvalidArgumentError("a second Hello");
    RETURN_IF_ERROR(TakeCredit());
    if (!incoming_.has_heartbeat()) registry_.Deliver(*this, incoming_);
    return absl::OkStatus();
  }
  if (!incoming_.has_hello()) return absl::InvalidArgumentError("the first message must be Hello");
  const v1::Hello& hello = incoming_.hello();
  if (hello.last_sequence() > kMaxSequence)
    return absl::InvalidArgumentError("Hello contains a sequence that no controller has reached");
  RETURN_IF_ERROR(CheckProtocol(hello.protocol(), hello.agent_version()));
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

void AgentSession::OnCancel() { Close(absl::CancelledError("the agent disconnected")); }

void AgentSession::OnDone() {
  open_call_ = {};
  registry_.Remove(*this);
  std::shared_ptr<AgentSession> last = std::move(self_);
  absl::MutexLock lock(&mutex_);
  context_ = nullptr;
}

}  // namespace muster::controller
