// The artifacts of images on the controller's disk: gigabytes each, never whole in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/sys/unique_fd.h"
#include "controller/artifact/blob_store.h"

namespace muster::controller::image {

class ArtifactStore;

// Receives one artifact. Destroyed before Finish(): nothing is kept. Not thread-safe.
class ArtifactUpload {
 public:
  static constexpr size_t kMaxPiece = size_t{1} << 20;

  ~ArtifactUpload();
  ArtifactUpload(const ArtifactUpload&) = delete;

  // InvalidArgument: a piece above 1 MiB. ResourceExhausted: more than announced; disk full.
  absl::Status Append(absl::string_view data);
  // DataLoss: it is not what was announced. After OK the artifact is durable.
  absl::Status Finish(absl::Time now);

 private:
  friend class ArtifactStore;
  ArtifactUpload(ArtifactStore& store, std::string sha256, uint64_t size,
                 std::unique_ptr<BlobWriter> writer)
      : store_(store), sha256_(std::move(sha256)), size_(size), writer_(std::move(writer)) {}

  ArtifactStore& store_;
  const std::string sha256_;
  const uint64_t size_;
  std::unique_ptr<BlobWriter> writer_;
};

// Artifacts by their digests (see DiskBlobStore). Thread-safe; calls block on the disk.
class ArtifactStore {
 public:
  // How long an artifact that no image names is kept: an image that needs it may be on its way.
  static constexpr absl::Duration kUnnamedKept = absl::Hours(1);

  // Makes the folder if need be, and removes what an interrupted upload left. At most `max_bytes`
  // are kept.
  static absl::StatusOr<std::unique_ptr<ArtifactStore>> Open(const std::string& folder,
                                                             uint64_t max_bytes);

  // Whether it is there and nothing is known to be wrong with it. If so, it stays for kUnnamedKept.
  bool Promise(absl::string_view sha256, absl::Time now);
  // NotFound: it is not there.
  absl::StatusOr<uint64_t> Size(absl::string_view sha256);
  // A descriptor for reading; the content stays readable when the artifact is removed. NotFound: it
  // is not there.
  absl::StatusOr<sys::UniqueFd> OpenFile(absl::string_view sha256);
  // Begins to receive it; it replaces one that is there. InvalidArgument: not a digest, or no size
  // that an artifact has. ResourceExhausted, with the remedy: no room, by the bound or on the disk.
  absl::StatusOr<std::unique_ptr<ArtifactUpload>> Begin(absl::string_view sha256, uint64_t size);

  // Reads it whole; "", or what is wrong: "is missing", "has the digest …". One with a fault counts
  // as not there for Promise(), so that it is sent again. `cancelled` is asked for each MiB; true:
  // Cancelled.
  absl::StatusOr<std::string> FindFault(absl::string_view sha256, uint64_t size,
                                        const std::function<bool()>& cancelled);
  // The same by its size alone, and without consequences.
  std::string FindFaultOfSize(absl::string_view sha256, uint64_t size);
  // It counts as not there for Promise() until it is sent again.
  void Distrust(absl::string_view sha256);

  // An image names them: promises are kept.
  void Fulfil(const std::vector<std::string>& digests);
  // Removes these, except for those that were promised lately, and returns their bytes. REQUIRES:
  // no image names them, and none begins to meanwhile.
  absl::StatusOr<uint64_t> Remove(const std::vector<std::string>& digests, absl::Time now);
  // Removes all that are neither in `named` nor younger than kUnnamedKept. REQUIRES: no image
  // begins to name another one meanwhile.
  absl::StatusOr<uint64_t> Sweep(const std::set<std::string>& named, absl::Time now);

  // The digests of all that are there.
  absl::StatusOr<std::vector<std::string>> List();
  // The paths of what does not belong into the folder, sorted; at most `limit`.
  std::vector<std::string> FindForeign(size_t limit) const;

 private:
  friend class ArtifactUpload;
  ArtifactStore(std::string folder, uint64_t max_bytes, std::unique_ptr<DiskBlobStore> blobs)
      : folder_(std::move(folder)), max_bytes_(max_bytes), blobs_(std::move(blobs)) {}

  absl::StatusOr<uint64_t> StoredBytes();
  absl::Status Reserve(uint64_t bytes);

  const std::string folder_;
  const uint64_t max_bytes_;
  const std::unique_ptr<DiskBlobStore> blobs_;
  absl::Mutex mutex_;
  uint64_t reserved_ ABSL_GUARDED_BY(mutex_) = 0;  // announced by uploads that are running
  absl::flat_hash_map<std::string, absl::Time> promised_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> damaged_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller::image
