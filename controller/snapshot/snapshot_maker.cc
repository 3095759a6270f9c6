#include "controller/snapshot/snapshot_maker.h"

#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/sys/archive/decompress.h"
#include "common/sys/file_system.h"
#include "controller/snapshot/release.h"
#include "controller/snapshot/signed_text.h"
#include "controller/snapshot/snapshot_store.h"
#include "controller/snapshot/upstream.h"

namespace muster::controller::snapshot {
namespace {

constexpr uint64_t kMaxInRelease = uint64_t{16} << 20;
constexpr uint64_t kMaxKeyring = uint64_t{1} << 20;
// As it is fetched, and unpacked. Debian's main has 9 MB and 50 MB.
constexpr uint64_t kMaxIndex = uint64_t{128} << 20;
constexpr size_t kMaxUnpacked = size_t{512} << 20;

absl::StatusOr<std::string> ReadKeyring(const SnapshotSource& source) {
  if (!source.key.empty()) return source.key;
  absl::StatusOr<std::string> keyring = sys::RealFileSystem().Read(source.signed_by, kMaxKeyring);
  if (keyring.ok()) return keyring;
  return absl::Status(
      absl::StatusCode::kFailedPrecondition,
      absl::StrCat("reading the keyring on the controller: ", keyring.status().message()));
}

}  // namespace

absl::StatusOr<v1::SnapshotRepository> SnapshotMaker::Make(const SnapshotSource& source) {
  v1::SnapshotRepository repository;
  repository.set_name(source.name);
  *repository.mutable_uris() = {source.uris.begin(), source.uris.end()};
  *repository.mutable_components() = {source.components.begin(), source.components.end()};
  *repository.mutable_architectures() = {source.architectures.begin(), source.architectures.end()};
  repository.set_signed_by(source.signed_by);
  repository.set_key(source.key);
  const std::string where = absl::StrCat("repository ", source.name);
  const absl::StatusOr<std::string> keyring = ReadKeyring(source);
  RETURN_IF_ERROR(Annotate(keyring.status(), where));
  std::vector<Package> packages;
  for (const std::string& name : source.suites) {
    absl::StatusOr<v1::SnapshotSuite> suite = MakeSuite(repository, name, *keyring, packages);
    RETURN_IF_ERROR(Annotate(suite.status(), absl::StrCat(where, ", suite ", name)));
    *repository.add_suites() = *std::move(suite);
  }
  const absl::StatusOr<std::string> text = PackageList::Write(std::move(packages));
  RETURN_IF_ERROR(Annotate(text.status(), where));
  ASSIGN_OR_RETURN(const auto list, PackageList::Read(*text));
  repository.set_packages(list->size());
  ASSIGN_OR_RETURN(*repository.mutable_package_list()->mutable_sha256(), store_.KeepText(*text));
  repository.mutable_package_list()->set_size_bytes(text->size());
  return repository;
}

absl::StatusOr<v1::SnapshotSuite> SnapshotMaker::MakeSuite(const v1::SnapshotRepository& repository,
                                                           const std::string& suite,
                                                           const std::string& keyring,
                                                           std::vector<Package>& packages) {
  v1::SnapshotSuite made;
  made.set_name(suite);
  const IncomingFile incoming(store_.NewIncoming());
  RETURN_IF_ERROR(Fetch(http_, repository.uris(), absl::StrCat("dists/", suite, "/InRelease"),
                        incoming.path(), kMaxInRelease, cancelled_));
  const absl::StatusOr<std::string> text =
      ReadSigned(processes_, incoming.path(), keyring, store_.NewIncoming());
  RETURN_IF_ERROR(Annotate(text.status(), "InRelease"));
  ASSIGN_OR_RETURN(const std::string signed_file, sys::RealFileSystem().Read(incoming.path()));
  made.mutable_in_release()->set_path("InRelease");
  made.mutable_in_release()->set_size_bytes(signed_file.size());
  ASSIGN_OR_RETURN(*made.mutable_in_release()->mutable_sha256(), store_.KeepText(signed_file));
  const absl::StatusOr<Release> release = ParseRelease(*text);
  RETURN_IF_ERROR(Annotate(release.status(), "InRelease"));
  // Nodes accept the lists of a snapshot whatever their age, so it is checked here.
  if (release->valid_until.has_value() && *release->valid_until < now_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "its indexes were valid until ",
        absl::FormatTime(absl::RFC3339_sec, *release->valid_until, absl::UTCTimeZone()),
        "; the mirror is out of date, or a server in between serves an old copy"));
  }
  if (release->date.has_value()) *made.mutable_dated_at() = ToTimestamp(*release->date);
  const absl::StatusOr<std::vector<IndexFile>> chosen =
      ChooseIndexes(*release, {repository.components().begin(), repository.components().end()},
                    {repository.architectures().begin(), repository.architectures().end()});
  RETURN_IF_ERROR(Annotate(chosen.status(), "InRelease"));
  for (const IndexFile& file : *chosen) {
    v1::SnapshotFile index;
    index.set_path(file.path);
    index.set_sha256(file.sha256);
    index.set_size_bytes(file.size);
    const absl::Status kept = KeepIndex(repository, suite, release->has_by_hash, index);
    // Some suites list forms of translations that their mirrors do not have.
    if (!IsPackageIndex(file.path) && absl::IsNotFound(kept)) continue;
    RETURN_IF_ERROR(Annotate(kept, file.path));
    *made.add_indexes() = std::move(index);
    if (!IsPackageIndex(file.path)) continue;
    ASSIGN_OR_RETURN(std::string content, store_.ReadAll(file.sha256, kMaxIndex));
    if (!absl::EndsWith(file.path, "/Packages")) {
      absl::StatusOr<std::string> unpacked = sys::Decompress(content, kMaxUnpacked);
      RETURN_IF_ERROR(Annotate(unpacked.status(), file.path));
      content = *std::move(unpacked);
    }
    absl::StatusOr<std::vector<Package>> named = ParsePackages(content);
    RETURN_IF_ERROR(Annotate(named.status(), file.path));
    std::move(named->begin(), named->end(), std::back_inserter(packages));
  }
  return made;
}

absl::Status SnapshotMaker::KeepIndex(const v1::SnapshotRepository& repository,
                                      const std::string& suite, bool has_by_hash,
                                      const v1::SnapshotFile& index) {
  if (store_.Has(index.sha256())) return absl::OkStatus();
  if (index.size_bytes() > kMaxIndex)
    return absl::ResourceExhaustedError(
        absl::StrCat("it has ", index.size_bytes(), " bytes, above the bound of ", kMaxIndex));
  RETURN_IF_ERROR(store_.CheckRoom(index.size_bytes()));
  // By its digest it stays for a while after the mirror has newer ones.
  const std::string plain = absl::StrCat("dists/", suite, "/", index.path());
  const std::string by_hash =
      absl::StrCat(plain.substr(0, plain.rfind('/')), "/by-hash/SHA256/", index.sha256());
  const IncomingFile incoming(store_.NewIncoming());
  RETURN_IF_ERROR(Fetch(http_, repository.uris(), has_by_hash ? by_hash : plain, incoming.path(),
                        index.size_bytes(), cancelled_));
  const absl::Status kept = store_.Keep(incoming.path(), index.sha256(), index.size_bytes());
  if (!absl::IsDataLoss(kept)) return kept;
  return absl::AbortedError(absl::StrCat(
      kept.message(), "; the mirror may have changed meanwhile: try again in some minutes"));
}

}  // namespace muster::controller::snapshot
