// One connection's bidirectional stream to the controller.
#pragma once

#include <deque>
#include <memory>

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "agent/session/mailbox.h"
#include "common/base/clock.h"
#include "muster/v1/agent_session.grpc.pb.h"

namespace muster::agent {

// Puts received messages into the mailbox and writes the messages that it is given, one at a time.
// The session thread calls the methods; gRPC's threads call the reactions.
class ControllerStream final
    : public grpc::ClientBidiReactor<v1::AgentMessage, v1::ControllerMessage> {
 public:
  ControllerStream(std::shared_ptr<grpc::Channel> channel, Mailbox& mailbox, Clock& clock);
  // REQUIRES: Finish() was called.
  ~ControllerStream() override;

  void Start();
  // Queues the message; the caller bounds the queue by queued().
  void Send(v1::AgentMessage message);
  size_t queued() const;
  // Since when the message being written has been waiting; InfiniteFuture when there is none.
  absl::Time writing_since() const;
  // Resumes reading after the mailbox was full.
  void ReadOn();
  // Ends the stream, waits until gRPC is done with it and returns how it ended.
  absl::Status Finish();

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  void WriteNext();

  const std::unique_ptr<v1::AgentSessionService::Stub> stub_;
  Mailbox& mailbox_;
  Clock& clock_;
  grpc::ClientContext context_;
  v1::ControllerMessage incoming_;
  v1::AgentMessage outgoing_;

  mutable absl::Mutex mutex_;
  std::deque<v1::AgentMessage> queue_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_paused_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time writing_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool finished_ = false;  // session thread only
  // Shared, because the notifying thread may still be inside it when the waiter continues.
  struct End {
    absl::Notification done;
    absl::Status status;
  };
  const std::shared_ptr<End> end_ = std::make_shared<End>();
};

}  // namespace muster::agent
