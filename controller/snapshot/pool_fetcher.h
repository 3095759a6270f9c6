// Packages of snapshots that are not here yet.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/base/worker.h"
#include "controller/http/http_message.h"
#include "controller/snapshot/package_list.h"
#include "muster/v1/snapshot.pb.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class HttpClient;
}

namespace muster::controller::snapshot {

class SnapshotStore;

// Fetches packages from upstream and keeps them, a few at a time; one that several nodes ask for is
// fetched once. Thread-safe.
class PoolFetcher {
 public:
  // `warn` takes a line for the log when a package cannot be had. The references must outlive the
  // object.
  PoolFetcher(SnapshotStore& store, sys::HttpClient& http, Clock& clock,
              std::function<void(absl::string_view)> warn);
  ~PoolFetcher();  // stops
  void Start();
  // Ends the transfers and answers everybody who waits.
  void Stop();

  // The package, which the repository's list names: at once where it is kept, otherwise when it
  // has been fetched. 502: it cannot be had. 503: too many are being fetched.
  HttpReply Serve(const Package& package, const v1::SnapshotRepository& repository);

 private:
  struct Job {
    Package package;
    google::protobuf::RepeatedPtrField<std::string> uris;
    std::vector<std::shared_ptr<LaterReply>> waiting;
  };

  absl::Time Step();
  absl::Status Fetch(const Package& package,
                     const google::protobuf::RepeatedPtrField<std::string>& uris);
  HttpReply Answer(const Package& package);
  bool IsStopping() const;

  SnapshotStore& store_;
  sys::HttpClient& http_;
  const std::function<void(absl::string_view)> warn_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Job> jobs_ ABSL_GUARDED_BY(mutex_);  // by digest
  std::deque<std::string> queue_ ABSL_GUARDED_BY(mutex_);               // those not begun
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace muster::controller::snapshot
