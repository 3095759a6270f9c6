// A person's browser on musterd's page, as far as the controller sees it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bench/swarm/swarm_cluster.h"

namespace muster::bench {

// Logged in by the link of `muster web login`, which works once. Not thread-safe, but for what
// Follow() calls.
class PageViewer {
 public:
  static absl::StatusOr<std::unique_ptr<PageViewer>> LogIn(SwarmCluster& cluster);
  ~PageViewer();  // ends what Follow() began

  struct View {
    size_t bytes = 0;  // on the wire, compressed
    absl::Duration time;
  };
  // Everything that a browser loads until the overview is shown, one after the other over one
  // connection.
  absl::StatusOr<View> FirstView();
  // The uncompressed answer.
  absl::StatusOr<std::string> Get(absl::string_view path);

  // Calls `on_event` with the name of each event of /api/events, in a thread of its own.
  absl::Status Follow(std::function<void(absl::string_view name)> on_event);

 private:
  class Request;

  PageViewer(std::string origin, std::string roots)
      : origin_(std::move(origin)), roots_(std::move(roots)) {}

  const std::string origin_;  // "https://localhost:7482"
  const std::string roots_;   // a file
  std::string cookie_;
  std::string token_;  // what each request proves itself by, beside the cookie
  std::unique_ptr<Request> request_;
  std::atomic<bool> is_stopping_ = false;
  std::thread follower_;
};

}  // namespace muster::bench
