// A reply that lasts as long as there is something to say, for server-sent events.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

struct MHD_Connection;

namespace muster::controller {

// What a stream says. The server asks from one of its threads at a time, whenever the reader has
// taken everything before: a slow reader costs no more than one piece.
class StreamSource {
 public:
  enum class State { kWaits, kEnded };

  virtual ~StreamSource() = default;
  // Appends the next piece to `piece`. Nothing is appended: the stream waits until it is woken, or
  // it has ended. Must not block.
  virtual State Next(std::string& piece) = 0;
};

// Has a stream asked again. Outlives the stream, so that it may be called at any time.
// Thread-safe.
class StreamWaker {
 public:
  // The source may have something to say.
  void Wake();
  // The stream ends, whatever its source would say.
  void End();
  bool has_ended() const;

 private:
  friend class HttpStream;

  void Resume() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  MHD_Connection* sleeping_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool is_woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

// A source with the waker that it, or those who feed it, hold.
class HttpStream {
 public:
  HttpStream(std::unique_ptr<StreamSource> source, std::shared_ptr<StreamWaker> waker)
      : source_(std::move(source)), waker_(std::move(waker)) {}

  const std::shared_ptr<StreamWaker>& waker() const { return waker_; }

  // For the server: up to `size` bytes into `buffer`; 0 after it has put the connection to sleep;
  // -1: the end.
  ssize_t Read(MHD_Connection* connection, char* buffer, size_t size);

 private:
  // True: the connection sleeps.
  bool Sleep(MHD_Connection* connection);

  const std::unique_ptr<StreamSource> source_;
  const std::shared_ptr<StreamWaker> waker_;
  std::string piece_;  // of which `taken_` bytes are sent
  size_t taken_ = 0;
  bool is_over_ = false;
};

}  // namespace muster::controller
