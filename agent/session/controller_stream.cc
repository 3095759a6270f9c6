#include "agent/session/controller_stream.h"

#include <utility>

#include <grpcpp/channel.h>

#include "agent/session/channel.h"

namespace muster::agent {

ControllerStream::ControllerStream(std::shared_ptr<grpc::Channel> channel, Mailbox& mailbox,
                                   Clock& clock)
    : stub_(v1::AgentSessionService::NewStub(channel)), mailbox_(mailbox), clock_(clock) {}

ControllerStream::~ControllerStream() {
  if (!finished_) (void)Finish();
}

void ControllerStream::Start() {
  stub_->async()->Connect(&context_, this);
  // Writes begin outside reactions: gRPC must not end the stream under them.
  AddHold();
  StartRead(&incoming_);
  StartCall();
}

void ControllerStream::Send(v1::AgentMessage message) {
  {
    absl::MutexLock lock(&mutex_);
    queue_.push_back(std::move(message));
  }
  WriteNext();
}

size_t ControllerStream::queued() const {
  absl::MutexLock lock(&mutex_);
  return queue_.size() + (writing_ ? 1 : 0);
}

absl::Time ControllerStream::writing_since() const {
  absl::MutexLock lock(&mutex_);
  return writing_since_;
}

void ControllerStream::WriteNext() {
  const absl::Time now = clock_.Now();
  {
    absl::MutexLock lock(&mutex_);
    if (writing_ || broken_ || queue_.empty()) return;
    outgoing_ = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    writing_since_ = now;
  }
  StartWrite(&outgoing_);
}

void ControllerStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    writing_since_ = absl::InfiniteFuture();
    broken_ |= !ok;
  }
  if (ok) {
    WriteNext();
  } else {
    mailbox_.SetBroken();
  }
}

void ControllerStream::OnReadDone(bool ok) {
  if (!ok) {
    {
      absl::MutexLock lock(&mutex_);
      broken_ = true;
    }
    mailbox_.SetBroken();
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    const size_t waiting = mailbox_.AddReceived(std::exchange(incoming_, v1::ControllerMessage()));
    read_paused_ = waiting >= Mailbox::kMaxReceived;
    if (read_paused_) return;
  }
  StartRead(&incoming_);
}

void ControllerStream::ReadOn() {
  {
    absl::MutexLock lock(&mutex_);
    if (!read_paused_) return;
    read_paused_ = false;
  }
  StartRead(&incoming_);
}

void ControllerStream::OnDone(const grpc::Status& status) {
  const std::shared_ptr<End> end = end_;
  end->status = FromGrpc(status);
  end->done.Notify();
}

absl::Status ControllerStream::Finish() {
  if (!finished_) {
    finished_ = true;
    {
      absl::MutexLock lock(&mutex_);
      // A stream that the other side has ended carries the reason; cancelling it here would hide
      // it.
      if (!broken_) context_.TryCancel();
      broken_ = true;
      queue_.clear();
    }
    RemoveHold();
  }
  end_->done.WaitForNotification();
  return end_->status;
}

}  // namespace muster::agent
