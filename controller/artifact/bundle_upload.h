// The upload of a bundle.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/artifact/blob_store.h"

namespace muster::controller {

class Store;

inline constexpr uint64_t kMaxBundleBytes = uint64_t{64} << 20;

// Receives one bundle, checks its digest and that it can be read, and enters it into the store. Not
// thread-safe. Destroyed before Finish(): nothing is kept.
class BundleUpload {
 public:
  static constexpr size_t kMaxPiece = 64 * 1024;

  // InvalidArgument: not a digest, or a size of 0 or above 64 MiB.
  static absl::StatusOr<std::unique_ptr<BundleUpload>> Begin(Store& store, BlobStore& blobs,
                                                             absl::string_view sha256,
                                                             uint64_t size);
  // InvalidArgument: a piece above 64 KiB. ResourceExhausted: more than announced; disk full.
  absl::Status Append(absl::string_view data);
  // Returns the number of files in it. DataLoss: not the announced content. InvalidArgument: not a
  // bundle (see sys::UnpackTarGz).
  absl::StatusOr<size_t> Finish(absl::Time now, const std::string& by);

 private:
  BundleUpload(Store& store, std::string sha256, uint64_t size, std::unique_ptr<BlobWriter> writer)
      : store_(store), sha256_(std::move(sha256)), size_(size), writer_(std::move(writer)) {}

  Store& store_;
  const std::string sha256_;
  const uint64_t size_;
  std::string data_;
  std::unique_ptr<BlobWriter> writer_;
};

// Whether the bundle exists, in the store and on disk.
absl::StatusOr<bool> HasBundle(Store& store, BlobStore& blobs, absl::string_view sha256);

}  // namespace muster::controller
