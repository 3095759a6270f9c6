#include "cli/render/report/snapshot_report.h"

#include <gmock/gmock.h>

#include "common/base/proto_time.h"
#include "muster/v1/snapshot.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kSnapshotsShownAt = absl::FromUnixSeconds(1'900'000'000);

v1::Snapshot Make() {
  v1::Snapshot snapshot;
  snapshot.set_name("2026-11-26");
  *snapshot.mutable_created_at() = ToTimestamp(kSnapshotsShownAt - absl::Hours(50));
  snapshot.set_created_by("admin:alice");
  snapshot.set_kept_bytes(12'345'678'900);
  for (const char* const name : {"debian", "security"}) {
    v1::SnapshotRepository& repository = *snapshot.add_repositories();
    repository.set_name(name);
    repository.add_uris(absl::StrCat("http://mirror.example.org/", name));
    repository.add_components("main");
    repository.add_components("contrib");
    repository.add_architectures("amd64");
    repository.set_packages(1200);
    v1::SnapshotSuite& suite = *repository.add_suites();
    suite.set_name("bookworm");
    suite.mutable_in_release()->set_path("InRelease");
    suite.mutable_in_release()->set_sha256("aa11");
    v1::SnapshotFile& index = *suite.add_indexes();
    index.set_path("main/binary-amd64/Packages.xz");
    index.set_sha256("bb22");
  }
  snapshot.mutable_repositories(0)->set_signed_by("/usr/share/keyrings/archive.gpg");
  *snapshot.mutable_repositories(0)->mutable_suites(0)->mutable_dated_at() =
      ToTimestamp(kSnapshotsShownAt - absl::Hours(60));
  return snapshot;
}

TEST(SnapshotReport, ListsSnapshots) {
  EXPECT_THAT(RenderSnapshots({}, kSnapshotsShownAt), Said());
  v1::ListSnapshotsResponse response;
  *response.add_snapshots() = Make();
  EXPECT_THAT(RenderSnapshots(response, kSnapshotsShownAt), Said());
}

TEST(SnapshotReport, ShowsSuitesAndDigests) {
  EXPECT_THAT(RenderSnapshot(Make(), kSnapshotsShownAt), Said());
  EXPECT_THAT(RenderNewSnapshot(Make()), Said());
}

TEST(SnapshotReport, FoldsPackagesWithTheSameVersions) {
  EXPECT_THAT(RenderSnapshotDiff({}), Said());
  v1::DiffSnapshotsResponse response;
  const auto add = [&](const std::string& name, const std::string& architecture,
                       const std::string& before, const std::string& after) {
    v1::PackageChange& change = *response.add_changes();
    change.set_name(name);
    change.set_architecture(architecture);
    change.set_before(before);
    change.set_after(after);
  };
  add("bash", "amd64", "5.2-1", "5.2-2");
  add("bash", "arm64", "5.2-1", "5.2-2");
  add("libc6", "amd64", "2.36-9", "2.36-9+deb12u1");
  add("libc-bin", "amd64", "2.36-9", "2.36-9+deb12u1");
  add("new\x1b[31m", "all", "", "1");
  add("old", "all", "3", "");
  const std::string text = RenderSnapshotDiff(response);
  EXPECT_THAT(text, Said());
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace muster::cli
