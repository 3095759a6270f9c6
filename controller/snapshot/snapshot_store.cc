#include "controller/snapshot/snapshot_store.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/id.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "common/base/text/plain_text.h"
#include "common/sys/file_system.h"
#include "common/sys/free_space.h"

namespace muster::controller::snapshot {
namespace {

constexpr size_t kMaxName = 64;
// A megabyte for each ten thousand packages.
constexpr uint64_t kMaxListBytes = uint64_t{512} << 20;
// Lists are some megabytes each.
constexpr size_t kMaxListsInMemory = 8;
// The store beside it needs room, too.
constexpr uint64_t kFreeBytes = uint64_t{1} << 30;
constexpr size_t kPieceBytes = 1 << 20;

// Calls visit(digest) for each blob of the snapshot but its packages.
template <typename Visit>
void ForEachIndex(const v1::Snapshot& snapshot, Visit visit) {
  for (const v1::SnapshotRepository& repository : snapshot.repositories()) {
    visit(repository.package_list().sha256());
    for (const v1::SnapshotSuite& suite : repository.suites()) {
      visit(suite.in_release().sha256());
      for (const v1::SnapshotFile& index : suite.indexes()) visit(index.sha256());
    }
  }
}

}  // namespace

absl::Time PackagesAt(const v1::Snapshot& snapshot) {
  absl::Time newest = absl::InfinitePast();
  for (const v1::SnapshotRepository& repository : snapshot.repositories()) {
    for (const v1::SnapshotSuite& suite : repository.suites())
      if (suite.has_dated_at()) newest = std::max(newest, ToTime(suite.dated_at()));
  }
  return newest;
}

IncomingFile::~IncomingFile() { unlink(path_.c_str()); }

std::string CheckSnapshotName(absl::string_view name) {
  const bool is_name = !name.empty() && name.size() <= kMaxName &&
                       absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
                       std::all_of(name.begin(), name.end(), [](char c) {
                         return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
                                c == '_' || c == '-';
                       });
  if (is_name) return "";
  return absl::StrCat("'", PlainText(name, Lines::kOne, kMaxName),
                      "' cannot name a snapshot: write up to ", kMaxName,
                      " letters, digits, '.', '_' and '-', beginning with a letter or digit");
}

absl::StatusOr<std::unique_ptr<SnapshotStore>> SnapshotStore::Open(const std::string& folder,
                                                                   uint64_t max_bytes) {
  sys::RealFileSystem files;
  RETURN_IF_ERROR(files.Remove(folder + "/incoming", /*recursive=*/true));
  for (const char* part : {"", "/names", "/incoming"})
    RETURN_IF_ERROR(files.MakeDirectory(folder + part, 0700));
  ASSIGN_OR_RETURN(std::unique_ptr<DiskBlobStore> blobs, DiskBlobStore::Open(folder + "/blobs"));
  std::unique_ptr<SnapshotStore> store(new SnapshotStore(folder, max_bytes, std::move(blobs)));
  RETURN_IF_ERROR(store->Load());
  return store;
}

absl::Status SnapshotStore::Load() {
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(folder_ + "/names"));
  {
    absl::MutexLock lock(&mutex_);
    for (const std::string& name : names) {
      if (!CheckSnapshotName(name).empty()) continue;  // debris of an interrupted write
      ASSIGN_OR_RETURN(const std::string text, files.Read(FileOf(name)));
      auto snapshot = std::make_shared<v1::Snapshot>();
      if (!snapshot->ParseFromString(text) || snapshot->name() != name)
        return absl::DataLossError(
            absl::StrCat(FileOf(name), " is damaged; remove it, and create the snapshot anew"));
      snapshots_[name] = std::move(snapshot);
    }
    ASSIGN_OR_RETURN(const std::vector<BlobInfo> blobs, blobs_->List());
    for (const BlobInfo& blob : blobs) {
      ASSIGN_OR_RETURN(kept_[blob.sha256], blobs_->Size(blob.sha256));
    }
  }
  // With a damaged list it is unknown what can go; the nodes that need the list will say so.
  Sweep().IgnoreError();
  return absl::OkStatus();
}

std::string SnapshotStore::FileOf(absl::string_view name) const {
  return absl::StrCat(folder_, "/names/", name);
}

std::string SnapshotStore::NewIncoming() const {
  return absl::StrCat(folder_, "/incoming/", NewUuid());
}

std::vector<SnapshotStore::SnapshotPtr> SnapshotStore::List() const {
  std::vector<SnapshotPtr> list;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [name, snapshot] : snapshots_) list.push_back(snapshot);
  }
  std::stable_sort(list.begin(), list.end(), [](const SnapshotPtr& a, const SnapshotPtr& b) {
    return ToTime(a->created_at()) > ToTime(b->created_at());
  });
  return list;
}

absl::StatusOr<SnapshotStore::SnapshotPtr> SnapshotStore::Get(absl::string_view name) const {
  absl::MutexLock lock(&mutex_);
  const auto found = snapshots_.find(name);
  if (found != snapshots_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [each, snapshot] : snapshots_) known.push_back(each);
  return absl::NotFoundError(absl::StrCat("no snapshot '", PlainText(name, Lines::kOne, kMaxName),
                                          "'", DidYouMean(name, known),
                                          "; `muster snapshot list` lists them"));
}

absl::Status SnapshotStore::Add(v1::Snapshot snapshot) {
  const std::string name = snapshot.name();
  if (std::string fault = CheckSnapshotName(name); !fault.empty())
    return absl::InvalidArgumentError(fault);
  absl::MutexLock lock(&mutex_);
  if (snapshots_.count(name) > 0)
    return absl::AlreadyExistsError(absl::StrCat("there is a snapshot '", name,
                                                 "' already; snapshots never change: choose "
                                                 "another name"));
  RETURN_IF_ERROR(
      sys::RealFileSystem().WriteAtomically(FileOf(name), snapshot.SerializeAsString(),
                                            {.mode = 0600, .uid = {}, .gid = {}, .verify = {}}));
  snapshots_[name] = std::make_shared<const v1::Snapshot>(std::move(snapshot));
  return absl::OkStatus();
}

absl::Status SnapshotStore::Remove(const std::string& name) {
  RETURN_IF_ERROR(Get(name).status());
  RETURN_IF_ERROR(sys::RealFileSystem().Remove(FileOf(name), /*recursive=*/false));
  absl::MutexLock lock(&mutex_);
  snapshots_.erase(name);
  lists_.clear();
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> SnapshotStore::Sweep() {
  absl::flat_hash_set<std::string> needed;
  for (const SnapshotPtr& snapshot : List()) {
    ForEachIndex(*snapshot, [&](const std::string& sha256) { needed.insert(sha256); });
    for (const v1::SnapshotRepository& repository : snapshot->repositories()) {
      ASSIGN_OR_RETURN(const auto packages, PackagesOf(repository));
      // Also those that are not here: one may arrive meanwhile.
      packages->ForEach([&](const Package& package) { needed.insert(package.sha256); });
    }
  }
  uint64_t freed = 0;
  absl::MutexLock lock(&mutex_);
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    const auto at = kept++;
    if (needed.contains(at->first)) continue;
    RETURN_IF_ERROR(blobs_->RemoveIfOlder(at->first, absl::InfiniteFuture()).status());
    freed += at->second;
    kept_.erase(at);
  }
  return freed;
}

absl::StatusOr<std::shared_ptr<const PackageList>> SnapshotStore::PackagesOf(
    const v1::SnapshotRepository& repository) {
  const std::string& sha256 = repository.package_list().sha256();
  {
    absl::MutexLock lock(&mutex_);
    const auto found = lists_.find(sha256);
    if (found != lists_.end()) return found->second;
  }
  ASSIGN_OR_RETURN(std::string text, blobs_->ReadAll(sha256, kMaxListBytes));
  ASSIGN_OR_RETURN(std::shared_ptr<const PackageList> list, PackageList::Read(std::move(text)));
  absl::MutexLock lock(&mutex_);
  if (lists_.size() >= kMaxListsInMemory) lists_.clear();
  lists_[sha256] = list;
  return list;
}

absl::StatusOr<std::vector<std::shared_ptr<const PackageList>>> SnapshotStore::PackagesOf(
    const v1::Snapshot& snapshot) {
  std::vector<std::shared_ptr<const PackageList>> lists;
  for (const v1::SnapshotRepository& repository : snapshot.repositories()) {
    ASSIGN_OR_RETURN(lists.emplace_back(), PackagesOf(repository));
  }
  return lists;
}

absl::StatusOr<uint64_t> SnapshotStore::KeptBytes(const v1::Snapshot& snapshot) {
  absl::flat_hash_set<std::string> digests;
  ForEachIndex(snapshot, [&](const std::string& sha256) { digests.insert(sha256); });
  ASSIGN_OR_RETURN(const auto lists, PackagesOf(snapshot));
  for (const auto& list : lists) {
    list->ForEach([&](const Package& package) {
      if (Has(package.sha256)) digests.insert(package.sha256);
    });
  }
  uint64_t bytes = 0;
  absl::MutexLock lock(&mutex_);
  for (const std::string& sha256 : digests) {
    const auto kept = kept_.find(sha256);
    if (kept != kept_.end()) bytes += kept->second;
  }
  return bytes;
}

bool SnapshotStore::Has(absl::string_view sha256) const {
  absl::MutexLock lock(&mutex_);
  return kept_.contains(sha256);
}

uint64_t SnapshotStore::TotalBytes() const {
  uint64_t bytes = 0;
  for (const auto& [sha256, size] : kept_) bytes += size;
  return bytes;
}

absl::Status SnapshotStore::CheckRoom(uint64_t bytes) const {
  {
    absl::MutexLock lock(&mutex_);
    const uint64_t total = TotalBytes();
    if (total > max_bytes_ || bytes > max_bytes_ - total) {
      return absl::ResourceExhaustedError(
          absl::StrCat("snapshots take ", total, " bytes of the ", max_bytes_,
                       " that snapshot_gib in controller.yaml allows; remove one with `muster "
                       "snapshot remove`, or allow more"));
    }
  }
  ASSIGN_OR_RETURN(const uint64_t free, sys::FreeBytes(folder_));
  if (free >= kFreeBytes && bytes <= free - kFreeBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the disk of ", folder_, " has ", free,
                                                   " bytes left, of which ", kFreeBytes,
                                                   " are not for snapshots; make room there"));
}

absl::Status SnapshotStore::Keep(const std::string& incoming, absl::string_view sha256,
                                 uint64_t size) {
  ASSIGN_OR_RETURN(const std::unique_ptr<BlobWriter> writer, blobs_->Begin(sha256, size));
  std::ifstream in(incoming, std::ios::binary);
  if (!in) return absl::InternalError(absl::StrCat("cannot read ", incoming));
  std::string piece(kPieceBytes, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0)
    RETURN_IF_ERROR(
        writer->Append(absl::string_view(piece.data(), static_cast<size_t>(in.gcount()))));
  RETURN_IF_ERROR(writer->Commit());
  absl::MutexLock lock(&mutex_);
  kept_[std::string(sha256)] = size;
  return absl::OkStatus();
}

absl::StatusOr<std::string> SnapshotStore::KeepText(absl::string_view text) {
  ASSIGN_OR_RETURN(std::string sha256, blobs_->Put(text));
  absl::MutexLock lock(&mutex_);
  kept_[sha256] = text.size();
  return sha256;
}

}  // namespace muster::controller::snapshot
