#include <sys/stat.h>
#include <unistd.h>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "common/sys/act_as.h"
#include "common/sys/archive/archive_file.h"
#include "common/sys/file_system.h"
#include "common/sys/free_space.h"
#include "controller/artifact/blob_store.h"
#include "controller/backup/backup.h"
#include "controller/backup/backup_keys.h"
#include "controller/backup/backup_leftovers.h"
#include "controller/backup/backup_manifest.h"
#include "controller/backup/backup_paths.h"
#include "controller/backup/backup_record.h"
#include "controller/backup/open_folder.h"
#include "controller/store/soci/store.h"
#include "controller/store/store_copy.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

constexpr size_t kPieceBytes = 256 << 10;

// The things that belong to a copy of the store, according to it.
struct StoreContents {
  std::set<std::string> blobs;
  uint64_t nodes = 0, secrets = 0, audit_entries = 0;
};

// Copies the store in `state_directory`, which musterd may have open, to the new file `to`. Where
// root does so in another account's folder, SQLite, which follows links and removes what a rollback
// journal names, acts with that account's rights, and writes into a folder of that account's.
absl::Status TakeStore(const std::string& state_directory, const std::string& to) {
  const std::string from = state_directory + "/muster.db";
  ASSIGN_OR_RETURN(const OpenFolder state, OpenFolder::At(state_directory));
  ASSIGN_OR_RETURN(const OpenFolder::Owner owner, state.GetOwner());
  if (geteuid() != 0 || owner.uid == 0) return CopyStore(from, to);
  ASSIGN_OR_RETURN(const StagingFolder theirs, StagingFolder::Make(state_directory));
  ASSIGN_OR_RETURN(const OpenFolder folder, OpenFolder::At(theirs.path()));
  RETURN_IF_ERROR(folder.Own(owner));
  {
    const sys::ActAs account(owner.uid, owner.gid);
    if (!account.ok())
      return absl::PermissionDeniedError(
          absl::StrCat("reading ", from, " with the rights of uid ", owner.uid,
                       ", to which its folder belongs: this process lacks the capabilities SETUID "
                       "and SETGID; run it where root has them"));
    RETURN_IF_ERROR(CopyStore(from, theirs.path() + "/store.db"));
  }
  return folder.CopyOut("store.db", to);
}

// musterd must not run out of room by its backup.
absl::Status CheckRoomFor(const std::string& state_directory) {
  const std::string folder = OwnFolderOnTheWayTo(state_directory);
  ASSIGN_OR_RETURN(const uint64_t free_bytes, sys::FreeBytes(folder));
  uint64_t store_bytes = 0;
  for (const char* name : {"/muster.db", "/muster.db-wal"}) {
    struct stat info;
    if (lstat((state_directory + name).c_str(), &info) == 0)
      store_bytes += static_cast<uint64_t>(info.st_size);
  }
  return CheckRoom(folder, free_bytes, store_bytes);
}

absl::StatusOr<StoreContents> ReadContents(const std::string& path) {
  StoreContents contents;
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(path));
  RETURN_IF_ERROR(store->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    for (const NodeRecord& node : nodes) {
      ASSIGN_OR_RETURN(const std::vector<OpenPlanRecord> plans, txn.open_plans().List(node.uuid));
      for (const OpenPlanRecord& plan : plans) {
        for (const absl::string_view blob : absl::StrSplit(plan.blobs, ' ', absl::SkipEmpty()))
          contents.blobs.emplace(blob);
      }
    }
    contents.nodes = nodes.size();
    ASSIGN_OR_RETURN(const std::vector<BundleRecord> bundles, txn.bundles().List());
    for (const BundleRecord& bundle : bundles) contents.blobs.insert(bundle.sha256);
    ASSIGN_OR_RETURN(const std::vector<SecretRecord> secrets, txn.secrets().List());
    contents.secrets = secrets.size();
    ASSIGN_OR_RETURN(contents.audit_entries, txn.events().Count());
    return absl::OkStatus();
  }));
  return contents;
}

absl::StatusOr<BackupManifest::Entry> Measure(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) return ErrnoStatus(errno, absl::StrCat("reading ", path));
  BackupManifest::Entry entry;
  Sha256 digest;
  std::string piece(kPieceBytes, '\0');
  while (const size_t count = std::fread(piece.data(), 1, piece.size(), file.get())) {
    digest.Update(absl::string_view(piece.data(), count));
    entry.size += count;
  }
  if (std::ferror(file.get()) != 0) return ErrnoStatus(EIO, absl::StrCat("reading ", path));
  entry.sha256 = digest.FinishHex();
  return entry;
}

absl::Status NoSecretKey(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("there is no file ", path,
                   " while the store holds secrets: where the key is a systemd "
                   "credential (LoadCredential=secret_key), keep your own copy of it and of the "
                   "keys in pki_directory, and pass --without-keys"));
}

// Writes one backup into a file.
class Creation {
 public:
  Creation(const BackupOptions& options, const Config& config, std::string staging, Clock& clock)
      : options_(options), config_(config), staging_(std::move(staging)) {
    manifest_.cluster = config.cluster;
    manifest_.created_at = absl::FormatTime(absl::RFC3339_sec, clock.Now(), absl::UTCTimeZone());
    manifest_.musterd_version = kVersion;
  }

  absl::StatusOr<BackupSummary> Write(const std::string& path) {
    // The store first: the blobs that it names stay in the blob store.
    const std::string store = staging_ + "/store.db";
    RETURN_IF_ERROR(TakeStore(config_.state_directory, store));
    ASSIGN_OR_RETURN(const StoreContents contents, ReadContents(store));
    RETURN_IF_ERROR(TakeFile("store.db", store));
    RETURN_IF_ERROR(TakeFile("controller.yaml", options_.config_path));
    RETURN_IF_ERROR(TakeParts(contents));
    for (const std::string& blob : contents.blobs) RETURN_IF_ERROR(TakeBlob(blob));

    ASSIGN_OR_RETURN(const auto archive, sys::ArchiveFileWriter::Create(path));
    const std::string manifest = ManifestToJson(manifest_);
    RETURN_IF_ERROR(archive->AddText("manifest.json", manifest));
    if (manifest_.has_keys) {
      keys_[kManifestDigest] = Sha256Hex(manifest);
      ASSIGN_OR_RETURN(const std::string sealed, SealKeys(keys_, *options_.passphrase));
      RETURN_IF_ERROR(archive->AddText("keys.sealed", sealed));
    }
    BackupSummary summary;
    for (const auto& [name, entry] : manifest_.entries) {
      summary.bytes += entry.size;
      const auto text = texts_.find(name);
      RETURN_IF_ERROR(text != texts_.end() ? archive->AddText(name, text->second)
                                           : archive->AddFile(name, files_[name]));
    }
    RETURN_IF_ERROR(archive->Finish());
    summary.cluster = manifest_.cluster;
    summary.created_at = manifest_.created_at;
    summary.musterd_version = manifest_.musterd_version;
    summary.has_keys = summary.keys_opened = manifest_.has_keys;
    summary.nodes = contents.nodes;
    summary.secrets = contents.secrets;
    summary.audit_entries = contents.audit_entries;
    summary.blobs = blobs_;
    return summary;
  }

 private:
  absl::Status TakeFile(const std::string& name, const std::string& path) {
    ASSIGN_OR_RETURN(manifest_.entries[name], Measure(path));
    files_[name] = path;
    return absl::OkStatus();
  }

  absl::Status TakeParts(const StoreContents& contents) {
    manifest_.has_keys = options_.passphrase.has_value();
    for (const BackupPart& part : BackupParts(config_, options_.config_path)) {
      if (part.is_key && !options_.passphrase.has_value()) continue;
      absl::StatusOr<std::string> content = disk_.Read(part.path);
      if (absl::IsNotFound(content.status()) && !part.is_required) {
        if (part.name == "secret_key" && contents.secrets > 0) return NoSecretKey(part.path);
        continue;
      }
      RETURN_IF_ERROR(content.status());
      if (part.is_key) {
        keys_[part.name] = *std::move(content);
      } else {
        manifest_.entries[part.name] = {content->size(), Sha256Hex(*content)};
        texts_[part.name] = *std::move(content);
      }
    }
    return absl::OkStatus();
  }

  // A blob's name is its digest.
  absl::Status TakeBlob(const std::string& sha256) {
    if (!IsSha256(sha256)) return absl::OkStatus();
    const std::string path = absl::StrCat(config_.state_directory, "/blobs/", sha256.substr(0, 2),
                                          "/", sha256.substr(2));
    struct stat info;
    // Contents of plans that have ended may be gone.
    if (stat(path.c_str(), &info) != 0) return absl::OkStatus();
    const std::string name = absl::StrCat("blobs/", sha256);
    manifest_.entries[name] = {static_cast<uint64_t>(info.st_size), sha256};
    files_[name] = path;
    ++blobs_;
    return absl::OkStatus();
  }

  const BackupOptions& options_;
  const Config& config_;
  const std::string staging_;
  sys::RealFileSystem disk_;
  BackupManifest manifest_;
  std::map<std::string, std::string> files_;  // entry → where it lies
  std::map<std::string, std::string> texts_;  // entry → its content
  std::map<std::string, std::string> keys_;   // name → content
  uint64_t blobs_ = 0;
};

absl::StatusOr<BackupSummary> Create(const std::string& path, const BackupOptions& options,
                                     const Config& config, Clock& clock) {
  if (std::filesystem::exists(path)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " exists; a backup never replaces another file: choose a new name"));
  }
  const std::filesystem::path target = std::filesystem::absolute(path);
  // The owner of the folder may swap it for another; held open, it stays the intended one.
  ASSIGN_OR_RETURN(const OpenFolder folder, OpenFolder::At(target.parent_path().string()));
  // First removes what interrupted backups have left, which is room, too. Each share ends before
  // the next begins: both may be of the same folder, which only one that nobody shares cleans.
  { const FolderShare clean(folder.PathOf("."), Leftover::kPartial); }
  ASSIGN_OR_RETURN(const StagingFolder staging, StagingFolder::Make(config.state_directory));
  RETURN_IF_ERROR(CheckRoomFor(config.state_directory));
  // Uses another name until it is complete.
  const std::string partial = PartialName(target.filename().string());
  const FolderShare share(folder.PathOf("."), Leftover::kPartial);
  Unfinished file(Leftover::kPartial, folder.PathOf(partial));
  ASSIGN_OR_RETURN(BackupSummary summary,
                   Creation(options, config, staging.path(), clock).Write(file.path()));
  RETURN_IF_ERROR(
      Annotate(folder.Rename(partial, target.filename().string()), absl::StrCat("writing ", path)));
  file.Keep();
  return summary;
}

}  // namespace

absl::StatusOr<BackupSummary> CreateBackup(const std::string& path, const BackupOptions& options,
                                           Clock& clock) {
  ASSIGN_OR_RETURN(const Config config, LoadConfig(options.config_path));
  const absl::Time began_at = clock.Now();
  absl::StatusOr<BackupSummary> summary = Create(path, options, config, clock);
  if (summary.ok()) {
    RETURN_IF_ERROR(Annotate(RecordBackup(config.state_directory, path, began_at),
                             absl::StrCat(path, " is complete, but musterd will call it overdue")));
  } else if (const absl::Status recorded =
                 RecordFailedBackup(config.state_directory, summary.status(), began_at);
             !recorded.ok()) {
    return Annotate(summary.status(),
                    absl::StrCat("musterd is not told (", recorded.message(), ")"));
  }
  return summary;
}

}  // namespace muster::controller
