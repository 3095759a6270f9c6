// A stream of events from the controller, for a caller that draws the screen meanwhile.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/call_metadata.h"
#include "common/base/clock.h"

namespace muster::cli {

// Reads a stream in a thread of its own, so that the screen's clock keeps running and Ctrl-C works.
// The destructor ends the call. One other thread may use it.
template <typename Event>
class EventStream {
 public:
  using Reader = std::unique_ptr<grpc::ClientReader<Event>>;

  // `open` begins the call, in the reader's thread; what it uses must outlive the object.
  explicit EventStream(std::function<Reader(grpc::ClientContext*)> open)
      : thread_([this, open = std::move(open)] { Read(open(&context_)); }) {}
  ~EventStream() {
    context_.TryCancel();
    {
      absl::MutexLock lock(&mutex_);
      closing_ = true;
    }
    thread_.join();
  }

  // Waits up to `timeout` for events; takes all that have arrived.
  std::deque<Event> Take(Clock& clock, absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    clock.AwaitUntil(mutex_, absl::Condition(this, &EventStream::HasNews), clock.Now() + timeout);
    return std::exchange(events_, {});
  }

  // The controller has confirmed the stream or sent an event: a stream may be quiet for a long
  // time.
  bool IsOpen() {
    absl::MutexLock lock(&mutex_);
    return open_;
  }

  // Set when the stream has ended and all of its events were taken.
  std::optional<grpc::Status> Ended() {
    absl::MutexLock lock(&mutex_);
    return events_.empty() ? status_ : std::nullopt;
  }

 private:
  // Events beyond this are left to the call's flow control.
  static constexpr size_t kMostQueued = 4096;

  bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return status_.has_value() || !events_.empty();
  }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return closing_ || events_.size() < kMostQueued;
  }

  void Read(Reader reader) {
    reader->WaitForInitialMetadata();
    if (context_.GetServerInitialMetadata().count(kWatchingHeader) > 0) SayOpen();
    Event event;
    while (reader->Read(&event)) {
      SayOpen();
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &EventStream::HasRoom));
      events_.push_back(std::move(event));
    }
    const grpc::Status status = reader->Finish();
    absl::MutexLock lock(&mutex_);
    status_ = status;
  }

  void SayOpen() {
    absl::MutexLock lock(&mutex_);
    open_ = true;
  }

  grpc::ClientContext context_;
  absl::Mutex mutex_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> status_ ABSL_GUARDED_BY(mutex_);
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace muster::cli
