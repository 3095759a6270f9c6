#include "controller/session/agent_session.h"

#include <utility>

#include <grpcpp/server_context.h>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "controller/session/caller.h"
#include "controller/session/session_registry.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxHelloField = 128;

class Refusal final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage> {
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

grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage>* AgentSession::Begin(
    SessionRegistry& registry, grpc::CallbackServerContext* context, std::string node_uuid) {
  std::shared_ptr<AgentSession> session(new AgentSession(registry, context, std::move(node_uuid)));
  AgentSession* raw = session.get();
  raw->self_ = session;
  registry.Add(std::move(session));
  raw->StartRead(&raw->incoming_);
  return raw;
}

grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage>* AgentSession::Refuse(
    const absl::Status& status) {
  return new Refusal(status);
}

absl::Status AgentSession::Send(const v1::ControllerMessage& message) {
  const size_t bytes = message.ByteSizeLong();
  absl::MutexLock lock(&mutex_);
  if (is_finished_ || closing_.has_value())
    return absl::UnavailableError("the node's session is ending");
  if (queue_.size() >= kMaxQueuedMessages || queued_bytes_ + bytes > kMaxQueuedBytes)
    return absl::ResourceExhaustedError(absl::StrCat("the node does not read: ", queue_.size(),
                                                     " messages (", queued_bytes_, " bytes) wait"));
  queue_.push_back(message);
  queued_bytes_ += bytes;
  if (queue_.size() == 1) StartWrite(&queue_.front());
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
  if (const absl::Status handled = Handle(); !handled.ok()) {
    Close(handled);
    return;
  }
  // Clear() alone keeps the parts of a large message, facts above all, for the next one: a fifth of
  // what a session takes.
  if (incoming_.has_heartbeat()) {
    incoming_.Clear();
  } else {
    incoming_ = v1::AgentMessage();
  }
  absl::MutexLock lock(&mutex_);
  if (!is_finished_ && !closing_.has_value()) StartRead(&incoming_);
}

absl::Status AgentSession::Handle() {
  if (has_greeted_.load()) {
    if (incoming_.has_hello()) return absl::InvalidArgumentError("a second Hello");
    if (!incoming_.has_heartbeat()) registry_.Deliver(*this, incoming_);
    return absl::OkStatus();
  }
  if (!incoming_.has_hello()) return absl::InvalidArgumentError("the first message must be Hello");
  const v1::Hello& hello = incoming_.hello();
  if (hello.agent_version().size() > kMaxHelloField || hello.boot_id().size() > kMaxHelloField ||
      hello.boot_id().empty()) {
    return absl::InvalidArgumentError("Hello needs a boot_id and fields of at most 128 bytes");
  }
  agent_version_ = hello.agent_version();
  boot_id_ = hello.boot_id();
  has_greeted_.store(true);
  return registry_.Greet(shared_from_this(), hello);
}

void AgentSession::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  queued_bytes_ -= queue_.front().ByteSizeLong();
  queue_.pop_front();
  if (closing_.has_value() || !ok) {
    queue_.clear();
    queued_bytes_ = 0;
    if (is_finished_) return;
    is_finished_ = true;
    Finish(ToGrpc(closing_.value_or(absl::UnavailableError("the connection broke"))));
    return;
  }
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
