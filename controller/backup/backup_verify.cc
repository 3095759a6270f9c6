#include <fcntl.h>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/archive/archive_file.h"
#include "common/sys/file_system.h"
#include "common/sys/unique_fd.h"
#include "controller/backup/backup.h"
#include "controller/backup/backup_contents.h"
#include "controller/backup/backup_keys.h"
#include "controller/backup/backup_paths.h"
#include "controller/enrollment/certificate_authority.h"
#include "controller/secret/secret_box.h"
#include "controller/store/soci/store.h"
#include "controller/store/store_copy.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxManifestBytes = size_t{256} << 20;
constexpr size_t kMaxKeysBytes = size_t{1} << 20;

absl::Status WriteAll(int fd, absl::string_view data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t count = write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, absl::StrCat("writing ", path));
    data.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAll(const sys::ReadPiece& read) {
  std::string text;
  while (true) {
    ASSIGN_OR_RETURN(const absl::string_view piece, read());
    if (piece.empty()) return text;
    absl::StrAppend(&text, piece);
  }
}

// Unpacks one archive and checks it against its manifest and, with the passphrase, the manifest
// against the digest that was sealed with the keys.
class Unpacking {
 public:
  Unpacking(std::string path, std::string folder, const std::optional<SecretBuffer>& passphrase)
      : path_(std::move(path)), folder_(std::move(folder)), passphrase_(passphrase) {}

  absl::Status Run() {
    RETURN_IF_ERROR(sys::ReadArchiveFile(
        path_, [this](const std::string& name, uint64_t size, const sys::ReadPiece& read) {
          if (!has_manifest_) return TakeManifest(name, size, read);
          return name == "keys.sealed" ? TakeKeys(size, read) : TakeEntry(name, size, read);
        }));
    if (!has_manifest_) return Damaged("it is empty");
    if (manifest_.has_keys && !has_keys_) return Damaged("entry keys.sealed is missing");
    for (const auto& [name, entry] : manifest_.entries) {
      if (seen_.count(name) == 0) return Damaged(absl::StrCat("entry ", name, " is missing"));
    }
    return absl::OkStatus();
  }

  const BackupManifest& manifest() const { return manifest_; }
  // nullopt: sealed, or left out.
  const std::optional<std::map<std::string, std::string>>& keys() const { return keys_; }

 private:
  absl::Status Damaged(absl::string_view why) const {
    return absl::DataLossError(absl::StrCat("the backup ", path_, " is damaged: ", why));
  }

  absl::Status TakeManifest(const std::string& name, uint64_t size, const sys::ReadPiece& read) {
    if (name != "manifest.json" || size > kMaxManifestBytes)
      return absl::InvalidArgumentError(
          absl::StrCat(path_, " is not a backup of a controller: it begins with ", name));
    ASSIGN_OR_RETURN(const std::string text, ReadAll(read));
    absl::StatusOr<BackupManifest> manifest = ParseManifest(text);
    if (!manifest.ok()) return Annotate(manifest.status(), path_);
    manifest_ = *std::move(manifest);
    manifest_digest_ = Sha256Hex(text);
    has_manifest_ = true;
    if (passphrase_.has_value() && !manifest_.has_keys)
      return absl::FailedPreconditionError(absl::StrCat(
          path_, " has no sealed keys, so its passphrase cannot prove its content: it was ",
          "made --without-keys, or somebody has changed it. If you trust the place where it was "
          "kept, ",
          "specify no passphrase"));
    return absl::OkStatus();
  }

  // They come right after the manifest: nothing is read before it is known to be genuine.
  absl::Status TakeKeys(uint64_t size, const sys::ReadPiece& read) {
    if (!manifest_.has_keys || has_keys_ || !seen_.empty() || size > kMaxKeysBytes)
      return Damaged("entry keys.sealed does not match its manifest");
    has_keys_ = true;
    if (!passphrase_.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string sealed, ReadAll(read));
    absl::StatusOr<std::map<std::string, std::string>> keys = OpenKeys(sealed, *passphrase_);
    if (!keys.ok()) return Annotate(keys.status(), absl::StrCat("backup ", path_));
    const auto digest = keys->find(kManifestDigest);
    if (digest == keys->end() || digest->second != manifest_digest_)
      return absl::DataLossError(absl::StrCat(
          "the backup ", path_, " was changed after it was made: its manifest.json is ",
          "not the one that was sealed with the keys. Take another backup, and find ",
          "out who can write to the place of this one"));
    keys->erase(digest);
    keys_ = *std::move(keys);
    return absl::OkStatus();
  }

  absl::Status TakeEntry(const std::string& name, uint64_t size, const sys::ReadPiece& read) {
    const auto expected = manifest_.entries.find(name);
    if (expected == manifest_.entries.end())
      return Damaged(absl::StrCat("entry ", name, " is not in its manifest"));
    // SQLite would roll it back into the store.
    if (absl::StartsWith(name, "store.db-"))
      return Damaged(absl::StrCat("entry ", name, " is in no backup"));
    if (!seen_.insert(name).second) return Damaged(absl::StrCat("entry ", name, " is there twice"));
    if (size != expected->second.size)
      return Damaged(absl::StrCat("entry ", name, " has ", size, " bytes, its manifest says ",
                                  expected->second.size));
    const std::filesystem::path target = std::filesystem::path(folder_) / name;
    std::error_code error;
    std::filesystem::create_directories(target.parent_path(), error);
    const sys::UniqueFd out(open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (out.get() < 0) return ErrnoStatus(errno, absl::StrCat("writing ", target.string()));
    Sha256 digest;
    while (true) {
      ASSIGN_OR_RETURN(const absl::string_view piece, read());
      if (piece.empty()) break;
      digest.Update(piece);
      RETURN_IF_ERROR(WriteAll(out.get(), piece, target.string()));
    }
    if (digest.FinishHex() != expected->second.sha256)
      return Damaged(absl::StrCat("the digest of entry ", name, " differs from its manifest"));
    if (fsync(out.get()) != 0) return ErrnoStatus(errno, absl::StrCat("writing ", target.string()));
    return absl::OkStatus();
  }

  const std::string path_;
  const std::string folder_;
  const std::optional<SecretBuffer>& passphrase_;
  bool has_manifest_ = false;
  bool has_keys_ = false;
  BackupManifest manifest_;
  std::string manifest_digest_;
  std::optional<std::map<std::string, std::string>> keys_;
  std::set<std::string> seen_;
};

absl::Status CheckStore(const std::string& path, BackupSummary& summary) {
  RETURN_IF_ERROR(CheckStoreThoroughly(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(path));
  return store->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::optional<uint64_t> broken, txn.events().FirstBroken());
    if (broken.has_value())
      return absl::DataLossError(absl::StrCat(
          "entry ", *broken,
          " of the audit log does not match the one before: somebody has changed the log"));
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    ASSIGN_OR_RETURN(const std::vector<SecretRecord> secrets, txn.secrets().List());
    ASSIGN_OR_RETURN(summary.audit_entries, txn.events().Count());
    summary.nodes = nodes.size();
    summary.secrets = secrets.size();
    return absl::OkStatus();
  });
}

absl::Status CheckKeys(const std::string& folder, const std::string& store_path,
                       const BackupContents& contents) {
  const auto ca_key = contents.keys.find("pki/ca.key");
  if (ca_key == contents.keys.end()) return absl::DataLossError("its keys lack pki/ca.key");
  sys::RealFileSystem disk;
  ASSIGN_OR_RETURN(const std::string roots, disk.Read(folder + "/pki/ca.crt"));
  // A key in a token is not in the backup, and the token need not be on the machine that verifies.
  if (!pki::IsTokenKey(ca_key->second)) {
    RETURN_IF_ERROR(
        Annotate(CertificateAuthority::Create(roots, ca_key->second).status(), "the authority"));
  }
  const auto secret_key = contents.keys.find("secret_key");
  if (secret_key != contents.keys.end())
    return CheckSecretsOpen(store_path, secret_key->second).status();
  if (contents.summary.secrets == 0) return absl::OkStatus();
  return absl::DataLossError("its keys lack secret_key while its store holds secrets");
}

}  // namespace

absl::StatusOr<uint64_t> CheckSecretsOpen(const std::string& store_path, const std::string& key) {
  ASSIGN_OR_RETURN(const SecretBox box, SecretBox::Create(SecretBuffer(key)));
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenStore(store_path));
  uint64_t count = 0;
  RETURN_IF_ERROR(store->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<SecretRecord> secrets, txn.secrets().List());
    for (const SecretRecord& secret : secrets)
      RETURN_IF_ERROR(box.Open(secret.name, secret.version, secret.sealed).status());
    ASSIGN_OR_RETURN(const std::vector<RotationRecord> rotations, txn.rotations().List());
    for (const RotationRecord& rotation : rotations)
      RETURN_IF_ERROR(box.Open(rotation.name, rotation.version, rotation.sealed).status());
    count = secrets.size();
    return absl::OkStatus();
  }));
  return count;
}

absl::StatusOr<BackupContents> UnpackBackup(const std::string& path, const std::string& folder,
                                            const BackupOptions& options) {
  BackupContents contents;
  Unpacking unpacking(path, folder, options.passphrase);
  RETURN_IF_ERROR(unpacking.Run());
  contents.manifest = unpacking.manifest();
  BackupSummary& summary = contents.summary;
  summary.cluster = contents.manifest.cluster;
  summary.created_at = contents.manifest.created_at;
  summary.musterd_version = contents.manifest.musterd_version;
  summary.has_keys = contents.manifest.has_keys;
  for (const auto& [name, entry] : contents.manifest.entries) {
    summary.bytes += entry.size;
    summary.blobs += name.compare(0, 6, "blobs/") == 0;
  }
  for (const char* name : {"store.db", "controller.yaml", "pki/ca.crt", "pki/controller.crt"}) {
    if (contents.manifest.entries.count(name) == 0)
      return absl::DataLossError(absl::StrCat("the backup ", path, " lacks ", name));
  }
  const std::string store_path = folder + "/store.db";
  RETURN_IF_ERROR(Annotate(CheckStore(store_path, summary), absl::StrCat("backup ", path)));
  if (!unpacking.keys().has_value()) return contents;
  contents.keys = *unpacking.keys();
  RETURN_IF_ERROR(Annotate(CheckKeys(folder, store_path, contents), absl::StrCat("backup ", path)));
  summary.keys_opened = true;
  return contents;
}

absl::StatusOr<BackupSummary> VerifyBackup(const std::string& path, const BackupOptions& options) {
  const char* temporary = std::getenv("TMPDIR");
  ASSIGN_OR_RETURN(const StagingFolder folder,
                   StagingFolder::Make(temporary == nullptr ? "/tmp" : temporary));
  ASSIGN_OR_RETURN(const BackupContents contents, UnpackBackup(path, folder.path(), options));
  return contents.summary;
}

}  // namespace muster::controller
