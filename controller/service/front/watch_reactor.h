// Streams the events of a run or a validation to a watcher.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <grpcpp/support/server_callback.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/base/call_metadata.h"
#include "controller/feed/event_feed.h"
#include "controller/session/caller.h"
#include "controller/session/open_calls.h"

namespace muster::controller {

// The reactor of a watching call: one event at a time is being written, the others wait in the
// watch, which limits them. Ends when the watcher's certificate does. Deletes itself.
template <typename Event>
class WatchReactor final : public grpc::ServerWriteReactor<Event> {
 public:
  // `broken` is the message to the watcher when its watch ends early.
  WatchReactor(OpenCalls& calls, grpc::CallbackServerContext* context, const char* broken)
      : context_(context), broken_(broken) {
    const absl::StatusOr<Caller> caller = CallerOf(*context);
    if (caller.ok()) {
      open_call_ = calls.Add(caller->identity, [this](const absl::Status& why) { Cut(why); });
    } else {
      Fail(caller.status());
    }
  }

  // Begins to write. Call once, unless Fail() was called. Sends the initial metadata at once, so
  // that the watcher can tell a quiet run from a controller that is away.
  void Start(std::shared_ptr<EventWatch<Event>> watch) {
    absl::MutexLock lock(&mutex_);
    watch_ = std::move(watch);
    context_->AddInitialMetadata(kWatchingHeader, "yes");
    this->StartSendInitialMetadata();
    Next();
  }
  void Fail(const absl::Status& status) {
    absl::MutexLock lock(&mutex_);
    End(ToGrpc(status));
  }
  // There may be something new. Callable from any thread.
  void OnReady() {
    absl::MutexLock lock(&mutex_);
    if (watch_ != nullptr && current_ == nullptr) Next();
  }

  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    current_.reset();
    if (cut_.has_value()) {
      End(*cut_);
    } else if (ok && !cancelled_) {
      Next();
    } else {
      End(grpc::Status::CANCELLED);
    }
  }
  void OnCancel() override {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    if (current_ == nullptr) End(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    std::shared_ptr<EventWatch<Event>> watch;
    {
      absl::MutexLock lock(&mutex_);
      watch = watch_;
    }
    if (watch != nullptr) watch->Cancel();
    delete this;
  }

 private:
  // The watcher may not watch any more. A second call while an event is still being written breaks
  // the call off.
  void Cut(const absl::Status& why) {
    absl::MutexLock lock(&mutex_);
    if (current_ == nullptr) {
      End(ToGrpc(why));
    } else if (cut_.has_value()) {
      context_->TryCancel();
    } else {
      cut_ = ToGrpc(why);
    }
  }
  void Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ended_) return;
    if (watch_->IsBroken()) {
      End(grpc::Status(grpc::StatusCode::UNAVAILABLE, broken_));
      return;
    }
    current_ = watch_->Next();
    if (current_ != nullptr) {
      this->StartWrite(current_.get());
    } else if (watch_->AtEnd()) {
      End(grpc::Status::OK);
    }
  }
  void End(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ended_) return;
    ended_ = true;
    this->Finish(status);
  }

  grpc::CallbackServerContext* const context_;  // lives until OnDone()
  const char* const broken_;
  absl::Mutex mutex_;
  std::shared_ptr<EventWatch<Event>> watch_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Event> current_ ABSL_GUARDED_BY(mutex_);  // being written
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> cut_ ABSL_GUARDED_BY(mutex_);  // status to end with after the event
  OpenCalls::Entry open_call_;
};

}  // namespace muster::controller
