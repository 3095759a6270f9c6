#include "cli/render/report/snapshot_report.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/package_changes.h"
#include "cli/render/plain_text.h"
#include "common/base/proto_time.h"
#include "common/base/text/counted.h"
#include "muster/v1/snapshot.pb.h"

namespace muster::cli {
namespace {

uint64_t PackagesOf(const v1::Snapshot& snapshot) {
  uint64_t packages = 0;
  for (const v1::SnapshotRepository& repository : snapshot.repositories())
    packages += repository.packages();
  return packages;
}

std::string SuitesOf(const v1::Snapshot& snapshot) {
  std::vector<std::string> suites;
  for (const v1::SnapshotRepository& repository : snapshot.repositories()) {
    for (const v1::SnapshotSuite& suite : repository.suites()) suites.push_back(suite.name());
  }
  return absl::StrJoin(suites, ", ");
}

std::string DateOf(const v1::SnapshotSuite& suite) {
  if (!suite.has_dated_at()) return "-";
  return absl::FormatTime("%E4Y-%m-%d %H:%M", ToTime(suite.dated_at()), absl::UTCTimeZone());
}

}  // namespace

std::string RenderSnapshots(const v1::ListSnapshotsResponse& response, absl::Time now) {
  if (response.snapshots().empty())
    return "no snapshots; `muster snapshot create --date` makes one\n";
  Table table({"SNAPSHOT", "CREATED", "SUITES", "PACKAGES", "SIZE"});
  for (const v1::Snapshot& snapshot : response.snapshots()) {
    table.AddRow({snapshot.name(), HumanTime(ToTime(snapshot.created_at()), now),
                  SuitesOf(snapshot), absl::StrCat(PackagesOf(snapshot)),
                  HumanBytes(snapshot.kept_bytes())});
  }
  return table.ToString();
}

std::string RenderSnapshot(const v1::Snapshot& snapshot, absl::Time now) {
  std::string text = absl::StrCat(
      snapshot.name(), ": created ", HumanTime(ToTime(snapshot.created_at()), now), " by ",
      Tame(snapshot.created_by()), ", ", Counted(PackagesOf(snapshot), "package"), ", ",
      HumanBytes(snapshot.kept_bytes()), " on the controller\n");
  for (const v1::SnapshotRepository& repository : snapshot.repositories()) {
    absl::StrAppend(&text, "\n", repository.name(), ": ", absl::StrJoin(repository.uris(), " "),
                    "\n  components ", absl::StrJoin(repository.components(), ", "),
                    "; architectures ", absl::StrJoin(repository.architectures(), ", "), "; ");
    absl::StrAppend(
        &text, Counted(repository.packages(), "package"), "; signed by ",
        repository.signed_by().empty() ? "the key in the inventory" : repository.signed_by(), "\n");
    Table table({"SUITE", "OF (UTC)", "FILE", "SHA256"});
    for (const v1::SnapshotSuite& suite : repository.suites()) {
      table.AddRow(
          {suite.name(), DateOf(suite), suite.in_release().path(), suite.in_release().sha256()});
      for (const v1::SnapshotFile& index : suite.indexes())
        table.AddRow({"", "", Tame(index.path()), index.sha256()});
    }
    text += table.ToString();
  }
  return text;
}

std::string RenderNewSnapshot(const v1::Snapshot& snapshot) {
  return absl::StrCat("snapshot ", snapshot.name(), ": ", SuitesOf(snapshot), ", ",
                      Counted(PackagesOf(snapshot), "package"), ", ",
                      HumanBytes(snapshot.kept_bytes()), "\nnodes get it by `os_snapshot: \"",
                      snapshot.name(), "\"` in the inventory's variables\n");
}

std::string RenderSnapshotDiff(const v1::DiffSnapshotsResponse& response) {
  std::vector<PackageChangeRow> changes;
  for (const v1::PackageChange& change : response.changes())
    changes.push_back({change.name(), change.architecture(), change.before(), change.after()});
  return RenderPackageChanges(changes);
}

}  // namespace muster::cli
