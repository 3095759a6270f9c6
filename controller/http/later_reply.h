// A reply that takes time to make.
#pragma once

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "controller/http/http_message.h"

struct MHD_Connection;

namespace muster::controller {

// The connection sleeps until the reply is there, and holds no thread of the server meanwhile.
// Outlives the connection. Thread-safe.
class LaterReply {
 public:
  LaterReply() = default;
  // Closes the file of a reply that nobody took.
  ~LaterReply();
  LaterReply(const LaterReply&) = delete;

  // Sets the reply, which is not one for later itself. The first one counts.
  void Finish(HttpReply reply);

  // For the server: the reply, or nothing after it has put the connection to sleep.
  std::optional<HttpReply> TakeOrSleep(MHD_Connection* connection);

 private:
  absl::Mutex mutex_;
  MHD_Connection* sleeping_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
  HttpReply reply_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
