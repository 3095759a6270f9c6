#include "controller/http/http_stream.h"

#include <algorithm>
#include <cstring>

#include <microhttpd.h>

namespace muster::controller {

void StreamWaker::Resume() {
  if (sleeping_ != nullptr) MHD_resume_connection(sleeping_);
  sleeping_ = nullptr;
}

void StreamWaker::Wake() {
  absl::MutexLock lock(&mutex_);
  is_woken_ = true;
  Resume();
}

void StreamWaker::End() {
  absl::MutexLock lock(&mutex_);
  has_ended_ = true;
  Resume();
}

bool StreamWaker::has_ended() const {
  absl::MutexLock lock(&mutex_);
  return has_ended_;
}

bool HttpStream::Sleep(MHD_Connection* connection) {
  absl::MutexLock lock(&waker_->mutex_);
  if (waker_->is_woken_ || waker_->has_ended_) {
    waker_->is_woken_ = false;
    return false;
  }
  waker_->sleeping_ = connection;
  MHD_suspend_connection(connection);
  return true;
}

ssize_t HttpStream::Read(MHD_Connection* connection, char* buffer, size_t size) {
  while (taken_ == piece_.size()) {
    piece_.clear();
    taken_ = 0;
    if (is_over_ || waker_->has_ended()) return -1;
    is_over_ = source_->Next(piece_) == StreamSource::State::kEnded;
    if (piece_.empty() && !is_over_ && Sleep(connection)) return 0;
  }
  const size_t count = std::min(size, piece_.size() - taken_);
  std::memcpy(buffer, piece_.data() + taken_, count);
  taken_ += count;
  return static_cast<ssize_t>(count);
}

}  // namespace muster::controller
