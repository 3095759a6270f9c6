// Server-sent events: what pages are told while they are open.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/http/http_message.h"
#include "controller/login/web_sessions.h"

namespace muster::controller {

class CachedPage;
class StreamWaker;
struct WebCollaborators;

// What a stream and those who feed it know of each other. Thread-safe.
struct StreamNews {
  std::atomic<bool> has_events = false;  // of what is watched
  std::atomic<bool> is_alive_due = false;
  absl::Mutex mutex;
  // The pages that have changed, by name, with their newest etag; each once, so that a slow reader
  // never has more than these waiting.
  std::vector<std::pair<std::string, std::string>> changed ABSL_GUARDED_BY(mutex);
};

// Opens streams, and feeds all of them from one thread, which looks four times a second while there
// are any. A stream ends with the session that opened it, and when its reader takes nothing for
// HttpServer's time. Thread-safe.
class LiveEvents {
 public:
  static constexpr absl::Duration kLook = absl::Milliseconds(250);
  // So often a stream shows that it is alive, by which also a reader that has gone is noticed.
  static constexpr absl::Duration kAlive = absl::Seconds(15);

  // A page that all see, and its name in events.
  struct Shared {
    std::string name;
    CachedPage& page;
  };

  // The references must outlive the object.
  LiveEvents(const WebCollaborators& with, std::vector<Shared> shared);
  ~LiveEvents();  // ends the streams

  // Paths below /api/events: every stream tells which shared pages have changed, and those of
  // "run", "rollout" and "validation" also tell of one thing, the query's `id`: a browser has few
  // connections, and a page needs no second one. NotFound: there is no such path or thing;
  // ResourceExhausted: the person watches too much.
  absl::StatusOr<HttpReply> Open(absl::string_view path, const HttpRequest& request,
                                 const WebSessions::Ticket& session);
  void Stop();

 private:
  struct Stream {
    std::weak_ptr<StreamWaker> waker;
    std::shared_ptr<StreamNews> news;
    WebSessions::Ticket session;
    absl::Time alive_at;
    std::vector<std::string> etags;  // as of `shared_`
  };

  absl::Time Look();
  // Tells the streams of pages that have changed.
  void LookAtShared() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const WebCollaborators& with_;
  const std::vector<Shared> shared_;
  absl::Mutex mutex_;
  std::vector<Stream> streams_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Worker worker_;
};

}  // namespace muster::controller
