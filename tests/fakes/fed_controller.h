// A controller for watchers: it reports the events of a run, a rollout and a validation that a test
// feeds it. It knows the status and no other call, as an older
// controller would.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/server.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/call_metadata.h"
#include "common/pki/authority.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/rollout.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "muster/v1/validation.grpc.pb.h"

namespace muster::testing {

// The events that all watchers get, and the end of their calls. Thread-safe.
template <typename Event>
class Feed {
 public:
  void Add(Event event) {
    absl::MutexLock lock(&mutex_);
    events_.push_back(std::move(event));
  }
  // Ends the running calls early.
  void Break() {
    absl::MutexLock lock(&mutex_);
    ++breaks_;
  }
  // Waits until this many watching calls have begun.
  bool AwaitWatches(int count) {
    absl::MutexLock lock(&mutex_);
    const auto begun = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return watches_ >= count; };
    return mutex_.AwaitWithTimeout(absl::Condition(&begun), absl::Seconds(10));
  }

  // Body of a watching call: the events for which `wanted` holds, until `is_last`.
  template <typename Wanted, typename IsLast>
  grpc::Status Tell(grpc::ServerContext& context, grpc::ServerWriter<Event>& writer, Wanted wanted,
                    IsLast is_last) {
    context.AddInitialMetadata(kWatchingHeader, "yes");
    writer.SendInitialMetadata();
    size_t next = 0;
    absl::MutexLock lock(&mutex_);
    ++watches_;
    const int breaks = breaks_;
    const auto has_news = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return next < events_.size() || breaks_ != breaks;
    };
    while (!context.IsCancelled()) {
      if (!mutex_.AwaitWithTimeout(absl::Condition(&has_news), absl::Milliseconds(20))) continue;
      if (breaks_ != breaks) return {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
      const Event event = events_[next++];
      if (!wanted(event)) continue;
      mutex_.Unlock();
      writer.Write(event);
      mutex_.Lock();
      if (is_last(event)) return grpc::Status::OK;
    }
    return grpc::Status::CANCELLED;
  }

 private:
  absl::Mutex mutex_;
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
  int breaks_ ABSL_GUARDED_BY(mutex_) = 0;
  int watches_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Listens on loopback with mutual TLS, and writes an administrator's folder for it.
class FedController {
 public:
  explicit FedController(const std::filesystem::path& folder);
  ~FedController();

  // cli.json and the credentials.
  const std::string& config_directory() const { return config_directory_; }
  // Stops listening; Restart() listens on the same port again.
  void Shutdown();
  void Restart();

  v1::GetStatusResponse status;                    // set them before anybody asks
  v1::Run run;                                     //
  v1::Rollout rollout;                             //
  v1::Validation validation;                       //
  std::atomic<bool> is_asked_for_changes = false;  // alone, by the last who watched the run
  Feed<v1::RunEvent> run_events;
  Feed<v1::RolloutEvent> rollout_events;
  Feed<v1::ValidationEvent> validation_events;

 private:
  class Nodes;
  class Rollouts;
  class Runs;
  class Validations;

  void Listen();

  const pki::Authority authority_;
  std::string config_directory_;
  std::string server_key_, server_certificate_;
  std::unique_ptr<Nodes> nodes_;
  std::unique_ptr<Runs> runs_;
  std::unique_ptr<Rollouts> rollouts_;
  std::unique_ptr<Validations> validations_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace muster::testing
