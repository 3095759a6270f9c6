#include "controller/artifact/bundle_upload.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/archive/archive.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {

absl::StatusOr<std::unique_ptr<BundleUpload>> BundleUpload::Begin(Store& store, BlobStore& blobs,
                                                                  absl::string_view sha256,
                                                                  uint64_t size) {
  if (size == 0 || size > kMaxBundleBytes)
    return absl::InvalidArgumentError(
        absl::StrCat("a bundle has 1 to ", kMaxBundleBytes, " bytes, not ", size,
                     "; large files belong in packages or downloads, not in the site folder"));
  ASSIGN_OR_RETURN(std::unique_ptr<BlobWriter> writer, blobs.Begin(sha256, size));
  return std::unique_ptr<BundleUpload>(
      new BundleUpload(store, std::string(sha256), size, std::move(writer)));
}

absl::Status BundleUpload::Append(absl::string_view data) {
  if (data.size() > kMaxPiece)
    return absl::InvalidArgumentError("a piece of a bundle has at most 64 KiB");
  RETURN_IF_ERROR(writer_->Append(data));
  absl::StrAppend(&data_, data);
  return absl::OkStatus();
}

absl::StatusOr<size_t> BundleUpload::Finish(absl::Time now, const std::string& by) {
  if (const std::string found = Sha256Hex(data_); data_.size() != size_ || found != sha256_)
    return absl::DataLossError(absl::StrCat("the upload has ", data_.size(), " bytes and SHA-256 ",
                                            found, "; announced were ", size_, " and ", sha256_));
  ASSIGN_OR_RETURN(const auto files, sys::UnpackTarGz(data_));
  RETURN_IF_ERROR(writer_->Commit());
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
    return txn.bundles().Put({sha256_, size_, now, by});
  }));
  return files.size();
}

absl::StatusOr<bool> HasBundle(Store& store, BlobStore& blobs, absl::string_view sha256) {
  if (!IsSha256(sha256))
    return absl::InvalidArgumentError("a bundle must be named by its SHA-256 in lower-case hex");
  const absl::Status found =
      store.View([&](Transaction& txn) { return txn.bundles().Get(sha256).status(); });
  if (absl::IsNotFound(found)) return false;
  RETURN_IF_ERROR(found);
  return blobs.Has(sha256);
}

}  // namespace muster::controller
