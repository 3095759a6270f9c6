// Makes snapshots: fetches a repository's indexes and verifies them.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/inventory/snapshot_source.h"
#include "controller/snapshot/package_list.h"
#include "muster/v1/snapshot.pb.h"

namespace muster::sys {
class HttpClient;
class ProcessRunner;
}  // namespace muster::sys

namespace muster::controller::snapshot {

class SnapshotStore;

// One snapshot's repositories, one after the other. Blocks for the network and the disk. The
// references must outlive it.
class SnapshotMaker {
 public:
  // `cancelled` is asked at least once a second.
  SnapshotMaker(SnapshotStore& store, sys::HttpClient& http, sys::ProcessRunner& processes,
                absl::Time now, std::function<bool()> cancelled)
      : store_(store),
        http_(http),
        processes_(processes),
        now_(now),
        cancelled_(std::move(cancelled)) {}

  // Keeps the repository's indexes as they are now. Nothing counts that the distribution's key has
  // not signed, directly or by a digest. Errors name the repository, the suite, the file.
  absl::StatusOr<v1::SnapshotRepository> Make(const SnapshotSource& source);

 private:
  absl::StatusOr<v1::SnapshotSuite> MakeSuite(const v1::SnapshotRepository& repository,
                                              const std::string& suite, const std::string& keyring,
                                              std::vector<Package>& packages);
  absl::Status KeepIndex(const v1::SnapshotRepository& repository, const std::string& suite,
                         bool has_by_hash, const v1::SnapshotFile& index);

  SnapshotStore& store_;
  sys::HttpClient& http_;
  sys::ProcessRunner& processes_;
  const absl::Time now_;
  const std::function<bool()> cancelled_;
};

}  // namespace muster::controller::snapshot
