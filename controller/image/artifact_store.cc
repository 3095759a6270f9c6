#include "controller/image/artifact_store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/free_space.h"
#include "common/value/image_manifest.h"

namespace muster::controller::image {
namespace {

// The store beside it needs room, too.
constexpr uint64_t kFreeBytes = uint64_t{1} << 30;
constexpr size_t kPieceBytes = size_t{1} << 20;

absl::Status NotHere(absl::string_view sha256) {
  return absl::NotFoundError(absl::StrCat("there is no artifact ", sha256));
}

}  // namespace

ArtifactUpload::~ArtifactUpload() {
  writer_.reset();  // removes what is not complete
  absl::MutexLock lock(&store_.mutex_);
  store_.reserved_ -= size_;
}

absl::Status ArtifactUpload::Append(absl::string_view data) {
  if (data.size() > kMaxPiece)
    return absl::InvalidArgumentError("a piece of an artifact has at most 1 MiB");
  return writer_->Append(data);
}

absl::Status ArtifactUpload::Finish(absl::Time now) {
  RETURN_IF_ERROR(writer_->Commit());
  // Its last piece may have come long before the end of the stream.
  store_.blobs_->Refresh(sha256_);
  absl::MutexLock lock(&store_.mutex_);
  store_.promised_[sha256_] = now;
  store_.damaged_.erase(sha256_);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ArtifactStore>> ArtifactStore::Open(const std::string& folder,
                                                                   uint64_t max_bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<DiskBlobStore> blobs, DiskBlobStore::Open(folder));
  return std::unique_ptr<ArtifactStore>(new ArtifactStore(folder, max_bytes, std::move(blobs)));
}

bool ArtifactStore::Promise(absl::string_view sha256, absl::Time now) {
  {
    absl::MutexLock lock(&mutex_);
    if (damaged_.contains(sha256)) return false;
    promised_[sha256] = now;
  }
  // After the promise: Remove() looks for it before it removes anything.
  if (blobs_->Refresh(sha256)) return true;
  absl::MutexLock lock(&mutex_);
  promised_.erase(sha256);
  return false;
}

absl::StatusOr<uint64_t> ArtifactStore::Size(absl::string_view sha256) {
  const absl::StatusOr<uint64_t> size = blobs_->Size(sha256);
  return absl::IsNotFound(size.status()) ? NotHere(sha256) : size;
}

absl::StatusOr<sys::UniqueFd> ArtifactStore::OpenFile(absl::string_view sha256) {
  const absl::StatusOr<int> fd = blobs_->OpenFile(sha256);
  if (absl::IsNotFound(fd.status())) return NotHere(sha256);
  RETURN_IF_ERROR(fd.status());
  return sys::UniqueFd(*fd);
}

absl::StatusOr<uint64_t> ArtifactStore::StoredBytes() {
  ASSIGN_OR_RETURN(const std::vector<std::string> digests, List());
  uint64_t bytes = 0;
  for (const std::string& sha256 : digests) bytes += blobs_->Size(sha256).value_or(0);
  return bytes;
}

absl::Status ArtifactStore::Reserve(uint64_t bytes) {
  // Counted each time: a few dozen files, and nothing that could go wrong with a sum in memory.
  ASSIGN_OR_RETURN(uint64_t taken, StoredBytes());
  ASSIGN_OR_RETURN(const uint64_t free, sys::FreeBytes(folder_));
  absl::MutexLock lock(&mutex_);
  taken += reserved_;
  if (taken > max_bytes_ || bytes > max_bytes_ - taken) {
    return absl::ResourceExhaustedError(
        absl::StrCat("images take ", taken, " bytes of the ", max_bytes_,
                     " that image_gib in controller.yaml allows, and this artifact has ", bytes,
                     "; delete an image with `muster image delete`, or allow more"));
  }
  if (free < kFreeBytes || bytes > free - kFreeBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the disk of ", folder_, " has ", free, " bytes left, of which ", kFreeBytes,
                     " are not for images, and this artifact has ", bytes, "; make room there"));
  }
  reserved_ += bytes;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ArtifactUpload>> ArtifactStore::Begin(absl::string_view sha256,
                                                                     uint64_t size) {
  if (size == 0 || size > kMaxArtifactBytes)
    return absl::InvalidArgumentError(
        absl::StrCat("an artifact has from 1 byte to 64 GiB, not ", size, " bytes"));
  if (!IsSha256(sha256))
    return absl::InvalidArgumentError("an artifact must be named by its SHA-256 in lower-case hex");
  RETURN_IF_ERROR(Reserve(size));
  // The upload holds the reservation from here on, and gives it back if there is no writer.
  std::unique_ptr<ArtifactUpload> upload(
      new ArtifactUpload(*this, std::string(sha256), size, nullptr));
  ASSIGN_OR_RETURN(upload->writer_, blobs_->Begin(sha256, size));
  return upload;
}

void ArtifactStore::Distrust(absl::string_view sha256) {
  absl::MutexLock lock(&mutex_);
  damaged_.insert(std::string(sha256));
}

std::string ArtifactStore::FindFaultOfSize(absl::string_view sha256, uint64_t size) {
  const absl::StatusOr<uint64_t> found = blobs_->Size(sha256);
  if (!found.ok()) return "is missing";
  if (*found == size) return "";
  return absl::StrCat("has ", *found, " bytes, not ", size);
}

absl::StatusOr<std::string> ArtifactStore::FindFault(absl::string_view sha256, uint64_t size,
                                                     const std::function<bool()>& cancelled) {
  if (std::string fault = FindFaultOfSize(sha256, size); !fault.empty()) {
    Distrust(sha256);
    return fault;
  }
  ASSIGN_OR_RETURN(const sys::UniqueFd file, OpenFile(sha256));
  Sha256 digest;
  std::string piece(kPieceBytes, '\0');
  while (true) {
    if (cancelled()) return absl::CancelledError("the check was interrupted");
    const ssize_t count = read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const absl::Status status = ErrnoStatus(errno, "cannot be read");
      Distrust(sha256);
      return std::string(status.message());
    }
    if (count == 0) break;
    digest.Update(absl::string_view(piece.data(), static_cast<size_t>(count)));
  }
  const std::string found = digest.FinishHex();
  if (found != sha256) {
    Distrust(sha256);
    return absl::StrCat("has the digest ", found, ", not ", sha256);
  }
  absl::MutexLock lock(&mutex_);
  damaged_.erase(sha256);
  return std::string();
}

void ArtifactStore::Fulfil(const std::vector<std::string>& digests) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& sha256 : digests) promised_.erase(sha256);
}

absl::StatusOr<uint64_t> ArtifactStore::Remove(const std::vector<std::string>& digests,
                                               absl::Time now) {
  uint64_t freed = 0;
  for (const std::string& sha256 : digests) {
    const uint64_t size = blobs_->Size(sha256).value_or(0);
    absl::MutexLock lock(&mutex_);
    const auto promise = promised_.find(sha256);
    if (promise != promised_.end() && promise->second >= now - kUnnamedKept) continue;
    ASSIGN_OR_RETURN(const bool is_removed, blobs_->RemoveIfOlder(sha256, absl::InfiniteFuture()));
    if (is_removed) freed += size;
    damaged_.erase(sha256);
    promised_.erase(sha256);
  }
  return freed;
}

absl::StatusOr<uint64_t> ArtifactStore::Sweep(const std::set<std::string>& named, absl::Time now) {
  ASSIGN_OR_RETURN(const std::vector<std::string> digests, List());
  uint64_t freed = 0;
  for (const std::string& sha256 : digests) {
    if (named.count(sha256) > 0) continue;
    const uint64_t size = blobs_->Size(sha256).value_or(0);
    ASSIGN_OR_RETURN(const bool is_removed, blobs_->RemoveIfOlder(sha256, now - kUnnamedKept));
    if (is_removed) freed += size;
  }
  absl::MutexLock lock(&mutex_);
  absl::erase_if(promised_, [&](const auto& each) { return each.second < now - kUnnamedKept; });
  return freed;
}

absl::StatusOr<std::vector<std::string>> ArtifactStore::List() {
  ASSIGN_OR_RETURN(const std::vector<BlobInfo> blobs, blobs_->List());
  std::vector<std::string> digests;
  for (const BlobInfo& blob : blobs) digests.push_back(blob.sha256);
  return digests;
}

std::vector<std::string> ArtifactStore::FindForeign(size_t limit) const {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code error;
  const auto is_folder = [](const fs::directory_entry& entry) {
    std::error_code ignored;
    return entry.is_directory(ignored) && !entry.is_symlink(ignored);
  };
  for (fs::directory_iterator top(folder_, error); !error && top != fs::directory_iterator();
       top.increment(error)) {
    const std::string head = top->path().filename().string();
    if (!is_folder(*top) || head.size() != 2 || !IsSha256(head + std::string(62, '0'))) {
      paths.push_back(top->path().string());
      continue;
    }
    std::error_code below;
    for (fs::directory_iterator it(top->path(), below); !below && it != fs::directory_iterator();
         it.increment(below)) {
      std::error_code ignored;
      const bool is_file = it->is_regular_file(ignored) && !it->is_symlink(ignored);
      if (!is_file || !IsSha256(absl::StrCat(head, it->path().filename().string())))
        paths.push_back(it->path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  if (paths.size() > limit) paths.resize(limit);
  return paths;
}

}  // namespace muster::controller::image
