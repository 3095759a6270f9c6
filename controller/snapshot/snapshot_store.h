// Snapshots on the controller's disk.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/artifact/blob_store.h"
#include "controller/snapshot/package_list.h"
#include "muster/v1/snapshot.pb.h"

namespace muster::controller::snapshot {

// "" where the text can name a snapshot; otherwise what is wrong with it.
std::string CheckSnapshotName(absl::string_view name);

// A path for a file that is fetched, which is removed with the object.
class IncomingFile {
 public:
  explicit IncomingFile(std::string path) : path_(std::move(path)) {}
  ~IncomingFile();
  IncomingFile(const IncomingFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// When the distribution made the snapshot's newest index; InfinitePast: it does not say. Pure.
absl::Time PackagesAt(const v1::Snapshot& snapshot);

// A folder with names/NAME (a serialized v1.Snapshot), blobs/ (indexes, lists and packages by their
// digests; see DiskBlobStore) and incoming/ (what is being fetched). A snapshot is there when its
// file is, and then all of its indexes are. Thread-safe.
class SnapshotStore {
 public:
  using SnapshotPtr = std::shared_ptr<const v1::Snapshot>;

  // Makes the folder if need be, and removes what belongs to no snapshot. At most `max_bytes` of
  // blobs are kept.
  static absl::StatusOr<std::unique_ptr<SnapshotStore>> Open(const std::string& folder,
                                                             uint64_t max_bytes);

  // The newest first.
  std::vector<SnapshotPtr> List() const;
  // NotFound, with the nearest name.
  absl::StatusOr<SnapshotPtr> Get(absl::string_view name) const;
  // All blobs that it names have to be there. AlreadyExists: there is one of that name.
  absl::Status Add(v1::Snapshot snapshot);
  // Sweep() then makes room.
  absl::Status Remove(const std::string& name);
  // Removes the blobs that belong to no snapshot, and returns their bytes. What is being fetched
  // for a new snapshot would be lost: never call it meanwhile.
  absl::StatusOr<uint64_t> Sweep();

  absl::StatusOr<std::shared_ptr<const PackageList>> PackagesOf(
      const v1::SnapshotRepository& repository);
  // The lists of all its repositories, in their order.
  absl::StatusOr<std::vector<std::shared_ptr<const PackageList>>> PackagesOf(
      const v1::Snapshot& snapshot);
  // See v1.Snapshot.kept_bytes.
  absl::StatusOr<uint64_t> KeptBytes(const v1::Snapshot& snapshot);

  bool Has(absl::string_view sha256) const;
  // A descriptor for reading, which the caller closes.
  absl::StatusOr<int> OpenFile(absl::string_view sha256) { return blobs_->OpenFile(sha256); }
  absl::StatusOr<std::string> ReadAll(absl::string_view sha256, uint64_t max_size) {
    return blobs_->ReadAll(sha256, max_size);
  }
  // A path at which nothing is, for an IncomingFile or a folder.
  std::string NewIncoming() const;
  // ResourceExhausted, with the remedy: no room for so many bytes, by the bound or on the disk.
  absl::Status CheckRoom(uint64_t bytes) const;
  // Keeps the content of an incoming file. DataLoss: it is not that content.
  absl::Status Keep(const std::string& incoming, absl::string_view sha256, uint64_t size);
  absl::StatusOr<std::string> KeepText(absl::string_view text);

 private:
  SnapshotStore(std::string folder, uint64_t max_bytes, std::unique_ptr<DiskBlobStore> blobs)
      : folder_(std::move(folder)), max_bytes_(max_bytes), blobs_(std::move(blobs)) {}

  absl::Status Load();
  std::string FileOf(absl::string_view name) const;
  uint64_t TotalBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string folder_;
  const uint64_t max_bytes_;
  const std::unique_ptr<DiskBlobStore> blobs_;
  mutable absl::Mutex mutex_;
  std::map<std::string, SnapshotPtr, std::less<>> snapshots_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, uint64_t> kept_ ABSL_GUARDED_BY(mutex_);  // digest → size
  // The lists in use, by digest.
  absl::flat_hash_map<std::string, std::shared_ptr<const PackageList>> lists_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller::snapshot
