#include "controller/service/validation_watch.h"

#include <utility>

#include "controller/session/caller.h"

namespace muster::controller {

void ValidationWatchReactor::Start(std::shared_ptr<validation::ValidationWatch> watch) {
  absl::MutexLock lock(&mutex_);
  watch_ = std::move(watch);
  Next();
}

void ValidationWatchReactor::Fail(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  End(ToGrpc(status));
}

void ValidationWatchReactor::OnReady() {
  absl::MutexLock lock(&mutex_);
  if (watch_ != nullptr && current_ == nullptr) Next();
}

void ValidationWatchReactor::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  current_.reset();
  if (ok && !cancelled_) {
    Next();
  } else {
    End(grpc::Status::CANCELLED);
  }
}

void ValidationWatchReactor::OnCancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (current_ == nullptr) End(grpc::Status::CANCELLED);
}

void ValidationWatchReactor::OnDone() {
  std::shared_ptr<validation::ValidationWatch> watch;
  {
    absl::MutexLock lock(&mutex_);
    watch = watch_;
  }
  if (watch != nullptr) watch->Cancel();
  delete this;
}

void ValidationWatchReactor::Next() {
  if (ended_) return;
  if (watch_->IsBroken()) {
    End(grpc::Status(grpc::StatusCode::UNAVAILABLE,
                     "the controller stops, or this watcher did not keep up"));
    return;
  }
  current_ = watch_->Next();
  if (current_ != nullptr) {
    StartWrite(current_.get());
  } else if (watch_->AtEnd()) {
    End(grpc::Status::OK);
  }
}

void ValidationWatchReactor::End(const grpc::Status& status) {
  if (ended_) return;
  ended_ = true;
  Finish(status);
}

}  // namespace muster::controller
