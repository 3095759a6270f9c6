#include "controller/snapshot/snapshot_server.h"

#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "controller/inventory/inventory.h"
#include "controller/snapshot/snapshots.h"
#include "controller/snapshot/upstream.h"

namespace muster::controller::snapshot {
namespace {

TEST(SnapshotServer, IndexesAreFoundByPathAndDigest) {
  v1::SnapshotRepository repository;
  v1::SnapshotSuite& suite = *repository.add_suites();
  suite.set_name("bookworm/updates");
  suite.mutable_in_release()->set_path("InRelease");
  suite.mutable_in_release()->set_sha256("r");
  v1::SnapshotFile& index = *suite.add_indexes();
  index.set_path("main/binary-amd64/Packages.xz");
  index.set_sha256("i");
  const std::string dists = "dists/bookworm/updates/";
  EXPECT_EQ(FindIndex(repository, dists + "InRelease"), "r");
  EXPECT_EQ(FindIndex(repository, dists + "main/binary-amd64/Packages.xz"), "i");
  EXPECT_EQ(FindIndex(repository, dists + "main/binary-amd64/by-hash/SHA256/i"), "i");
  for (const std::string& path :
       {std::string(), dists, dists + "Release", dists + "main/binary-amd64/Packages",
        dists + "main/binary-arm64/by-hash/SHA256/i", dists + "main/binary-amd64/by-hash/SHA256/r",
        std::string("dists/bookworm/InRelease"), std::string("InRelease")}) {
    EXPECT_EQ(FindIndex(repository, path), "") << path;
  }
}

TEST(Upstream, PathsAreEscaped) {
  EXPECT_EQ(UrlOf("http://mirror.example.org/debian/", "pool/g++_1%3a2~b+1.deb"),
            "http://mirror.example.org/debian/pool/g++_1%253a2~b+1.deb");
  EXPECT_EQ(UrlOf("https://h", "a?b#c"), "https://h/a%3Fb%23c");
}

TEST(Snapshots, AreInUseWhereTheInventoryNamesThem) {
  const auto use = [](const std::string& vars, absl::string_view name) {
    const auto inventory = ParseInventory(
        {{"cluster.yaml", absl::StrCat("cluster: x\nnodes: {c1: {role: compute, groups: [gpu]}}\n"
                                       "groups: {gpu: {}}\n")},
         {"group_vars/gpu.yaml", vars}});
    return UseOf(inventory.value(), name);
  };
  EXPECT_EQ(use("a: 1\nos_snapshot: \"2026-11-26\"\n", "2026-11-26"),
            "group_vars/gpu.yaml:2 (group gpu)");
  EXPECT_EQ(use("os_snapshot: 20261126\n", "20261126"), "group_vars/gpu.yaml:1 (group gpu)");
  EXPECT_EQ(use("os_snapshot: \"2026-11-26\"\n", "2026-11-2"), "");
  EXPECT_EQ(use("other: \"2026-11-26\"\n", "2026-11-26"), "");
  for (const std::string text :
       {"cluster: x\nnodes: {c1: {role: compute}}\nvars: {os_snapshot: a}\n",
        "cluster: x\nnodes: {c1: {role: compute, vars: {os_snapshot: a}}}\n"}) {
    EXPECT_NE(UseOf(ParseInventory({{"f", text}}).value(), "a"), "") << text;
  }
}

}  // namespace
}  // namespace muster::controller::snapshot
