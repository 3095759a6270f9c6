// Content-addressed files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/digest.h"

namespace muster::controller {

// A blob that is being received. Nothing is visible under its digest before Commit(); destroying it
// earlier discards it. Not thread-safe.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  // ResourceExhausted: exceeds the size given at the start, or the disk is full.
  virtual absl::Status Append(absl::string_view data) = 0;
  // DataLoss: the bytes have another digest or size than announced. When it returns OK, the blob is
  // durable.
  virtual absl::Status Commit() = 0;
};

struct BlobInfo {
  std::string sha256;
  absl::Time used_at;  // when it was written, or Refresh() found it
};

// Blobs by the SHA-256 of their content. Immutable once stored. Thread-safe; calls block for disk.
class BlobStore {
 public:
  virtual ~BlobStore() = default;
  virtual bool Has(absl::string_view sha256) = 0;
  // NotFound: there is none.
  virtual absl::StatusOr<uint64_t> Size(absl::string_view sha256) = 0;
  // Up to `count` bytes from `offset` on; "" at and past the end.
  virtual absl::StatusOr<std::string> Read(absl::string_view sha256, uint64_t offset,
                                           size_t count) = 0;
  // Begins to receive the blob of that digest and exact size. InvalidArgument: not a digest.
  virtual absl::StatusOr<std::unique_ptr<BlobWriter>> Begin(absl::string_view sha256,
                                                            uint64_t size) = 0;
  // As Has(), but also makes RemoveIfOlder() treat the blob as if it had been written now: for a
  // blob that is about to be referred to.
  virtual bool Refresh(absl::string_view sha256) = 0;
  virtual absl::StatusOr<std::vector<BlobInfo>> List() = 0;
  // Removes the blob unless it was written or refreshed since `time`; returns whether it did.
  virtual absl::StatusOr<bool> RemoveIfOlder(absl::string_view sha256, absl::Time time) = 0;
  // Stores and refreshes `data` and returns its digest.
  absl::StatusOr<std::string> Put(absl::string_view data);
  // The whole blob. ResourceExhausted: larger than `max_size`.
  absl::StatusOr<std::string> ReadAll(absl::string_view sha256, uint64_t max_size);
};

// Keeps blobs as files: <folder>/ab/cdef… (0600), written beside their place, synced and renamed.
class DiskBlobStore final : public BlobStore {
 public:
  // Makes the folder (0700) if need be and removes what an interrupted write left.
  static absl::StatusOr<std::unique_ptr<DiskBlobStore>> Open(const std::string& folder);

  bool Has(absl::string_view sha256) override;
  absl::StatusOr<uint64_t> Size(absl::string_view sha256) override;
  absl::StatusOr<std::string> Read(absl::string_view sha256, uint64_t offset,
                                   size_t count) override;
  absl::StatusOr<std::unique_ptr<BlobWriter>> Begin(absl::string_view sha256,
                                                    uint64_t size) override;
  bool Refresh(absl::string_view sha256) override;
  absl::StatusOr<std::vector<BlobInfo>> List() override;
  absl::StatusOr<bool> RemoveIfOlder(absl::string_view sha256, absl::Time time) override;
  // A descriptor of the blob for reading, which the caller closes. NotFound: there is none.
  absl::StatusOr<int> OpenFile(absl::string_view sha256);

 private:
  explicit DiskBlobStore(std::string folder) : folder_(std::move(folder)) {}
  std::string PathOf(absl::string_view sha256) const;

  const std::string folder_;
  absl::Mutex removing_;  // so that a blob that is being refreshed is not removed
};

}  // namespace muster::controller
