// One agent's stream.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/slice.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/session/open_calls.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {

class SessionRegistry;

// The reactor of AgentSessionService.Connect. Reads one message at a time and hands it on; writes
// from a bounded queue. Lives until gRPC and the registry have both released it. Thread-safe.
//
// It receives bytes rather than messages: gRPC would parse a message of any size that the listener
// accepts, and report one that cannot be parsed as the end of the stream.
class AgentSession final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                           public std::enable_shared_from_this<AgentSession> {
 public:
  using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

  static constexpr size_t kMaxQueuedMessages = 64;
  static constexpr size_t kMaxQueuedBytes = 8 * 1024 * 1024;
  // Limits on what one node may send, in addition to kMaxAgentMessageBytes of intake.h. An honest
  // agent waits for the receipt of 128 reports and merges progress, so it stays far below. Two
  // bytes can become a hundred when parsed (see intake.h for the limit on that): larger messages
  // than this are handled one at a time across all nodes.
  static constexpr size_t kLargeMessageBytes = 64 * 1024;
  static constexpr uint32_t kMessagesPerSecond = 5000;
  static constexpr size_t kBytesPerSecond = 8 * 1024 * 1024;
  // After so many seconds in a row above that, the session is cut off.
  static constexpr int kMaxFloodedSeconds = 10;
  // A write that the peer does not accept within this time is given up, and the session with it.
  static constexpr absl::Duration kWriteTimeout = absl::Seconds(30);

  // Makes the session and begins to read; it ends when the node's certificate does. `context` lives
  // until OnDone(), as gRPC guarantees. `must_renew`: the node has to get a new certificate at
  // once.
  static Reactor* Begin(SessionRegistry& registry, OpenCalls& calls,
                        grpc::CallbackServerContext* context, const Identity& node,
                        bool must_renew);
  // A stream that ends at once with `status`.
  static Reactor* Refuse(const absl::Status& status);

  // ResourceExhausted: the queue is full. Unavailable: the stream is ending.
  absl::Status Send(const v1::ControllerMessage& message);
  // See AgentSessions. The bytes are released when they are written, or with the stream.
  absl::Status SendPlan(std::shared_ptr<const std::string> message);
  // Ends the stream with `status`, after a write in progress; a second call changes nothing.
  void Close(const absl::Status& status);
  // Breaks the stream off if it has not ended, for a peer that accepts nothing.
  void Abort();
  // Close() was called, but the status has not been sent yet.
  bool IsClosing();
  // Call once a second: resumes reading after too much had come. The error says why the session
  // must be cut off. The controller itself did nothing before `resumed_at`, see Silence.
  absl::Status Refill(absl::Time now, absl::Time resumed_at);

  const std::string& node_uuid() const { return node_uuid_; }
  const std::string& peer() const { return peer_; }
  absl::Time connected_at() const { return connected_at_; }
  bool must_renew() const { return must_renew_; }
  absl::Time last_seen_at() const { return absl::FromUnixNanos(last_seen_.load()); }
  // Set by Hello, before the registry shows the session to others.
  const std::string& agent_version() const { return agent_version_; }
  const std::string& boot_id() const { return boot_id_; }
  bool has_greeted() const { return has_greeted_.load(); }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  AgentSession(SessionRegistry& registry, grpc::CallbackServerContext* context,
               std::string node_uuid, bool must_renew);
  // Queues a serialized message of that kind.
  absl::Status Enqueue(const grpc::Slice& slice, v1::ControllerMessage::MessageCase kind);
  // Parses and handles the received message, and releases it.
  absl::Status Take();
  absl::Status TakeLarge();
  absl::Status Handle();
  // Whether the message answers a request to the node.
  absl::Status TakeCredit();
  // Counts the message; false: nothing more is read before the next Refill().
  bool Spend(size_t bytes);
  void ReadOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SessionRegistry& registry_;
  const std::string node_uuid_;
  const std::string peer_;
  const bool must_renew_;
  const absl::Time connected_at_;
  std::atomic<int64_t> last_seen_;  // Unix nanoseconds
  std::atomic<bool> has_greeted_ = false;
  std::string agent_version_;
  std::string boot_id_;
  grpc::ByteBuffer received_;
  v1::AgentMessage incoming_;

  absl::Mutex mutex_;
  grpc::CallbackServerContext* context_ ABSL_GUARDED_BY(mutex_);
  std::list<grpc::ByteBuffer> queue_ ABSL_GUARDED_BY(mutex_);  // the first is being written
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Closed while a write is in progress: gRPC gets the status after that.
  std::optional<absl::Status> closing_ ABSL_GUARDED_BY(mutex_);
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;  // Finish() was called
  absl::Time writing_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  uint32_t messages_left_ ABSL_GUARDED_BY(mutex_) = kMessagesPerSecond;
  size_t bytes_left_ ABSL_GUARDED_BY(mutex_) = kBytesPerSecond;
  int flooded_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_paused_ ABSL_GUARDED_BY(mutex_) = false;
  // The number of answers that may still come. Three reports of facts may come unasked: after
  // Hello, what was there after a reboot, and what was gathered for the connection before.
  uint32_t facts_awaited_ ABSL_GUARDED_BY(mutex_) = 3;
  uint32_t receipts_awaited_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t slurm_answers_awaited_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t command_results_awaited_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<AgentSession> self_;  // held while gRPC uses the object
  OpenCalls::Entry open_call_;
};

}  // namespace muster::controller
