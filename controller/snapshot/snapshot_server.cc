#include "controller/snapshot/snapshot_server.h"

#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "controller/snapshot/pool_fetcher.h"
#include "controller/snapshot/snapshot_store.h"

namespace muster::controller::snapshot {
namespace {

constexpr absl::string_view kPrefix = "/snapshot/";
constexpr absl::string_view kByHash = "by-hash/SHA256/";

HttpReply NotFound() { return {.body = "not found\n"}; }

}  // namespace

std::string PathOf(absl::string_view snapshot, absl::string_view repository) {
  return absl::StrCat(kPrefix, snapshot, "/", repository);
}

std::string FindIndex(const v1::SnapshotRepository& repository, absl::string_view path) {
  for (const v1::SnapshotSuite& suite : repository.suites()) {
    absl::string_view rest = path;
    if (!absl::ConsumePrefix(&rest, absl::StrCat("dists/", suite.name(), "/"))) continue;
    if (rest == suite.in_release().path()) return suite.in_release().sha256();
    for (const v1::SnapshotFile& index : suite.indexes()) {
      const std::string folder = index.path().substr(0, index.path().rfind('/') + 1);
      if (rest == index.path() || rest == absl::StrCat(folder, kByHash, index.sha256()))
        return index.sha256();
    }
  }
  return "";
}

HttpReply ServeSnapshot(SnapshotStore& store, PoolFetcher& fetcher, absl::string_view path) {
  if (!absl::ConsumePrefix(&path, kPrefix)) return NotFound();
  const std::vector<absl::string_view> parts = absl::StrSplit(path, absl::MaxSplits('/', 2));
  if (parts.size() != 3) return NotFound();
  const auto snapshot = store.Get(parts[0]);
  if (!snapshot.ok()) return NotFound();
  for (const v1::SnapshotRepository& repository : (*snapshot)->repositories()) {
    if (repository.name() != parts[1]) continue;
    if (const std::string sha256 = FindIndex(repository, parts[2]); !sha256.empty()) {
      const absl::StatusOr<int> fd = store.OpenFile(sha256);
      if (!fd.ok()) return {.status = 500, .body = absl::StrCat(fd.status().message(), "\n")};
      return {.status = 200, .content_type = "application/octet-stream", .fd = *fd};
    }
    const auto packages = store.PackagesOf(repository);
    if (!packages.ok())
      return {.status = 500, .body = absl::StrCat(packages.status().message(), "\n")};
    const std::optional<Package> package = (*packages)->Find(parts[2]);
    return package.has_value() ? fetcher.Serve(*package, repository) : NotFound();
  }
  return NotFound();
}

}  // namespace muster::controller::snapshot
