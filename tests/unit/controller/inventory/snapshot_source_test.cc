#include "controller/inventory/snapshot_source.h"

#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::SizeIs;

absl::StatusOr<Inventory> ParseSources(const std::string& text) {
  return ParseInventory(
      {{"f", absl::StrCat("cluster: x\nnodes: {c1: {role: compute}}\nsnapshots:\n", text)}});
}

constexpr char kDebian[] =
    "  debian:\n"
    "    uris: [\"http://mirror.example.org/debian\", \"https://[fd00::1]:8080/d/\"]\n"
    "    suites: [bookworm, bookworm-updates]\n"
    "    components: [main, non-free-firmware]\n"
    "    architectures: amd64\n"
    "    signed_by: /usr/share/keyrings/debian-archive-keyring.gpg\n";

TEST(SnapshotSource, HasWhatAptNeeds) {
  const auto inventory = ParseSources(
      absl::StrCat(kDebian,
                   "  own: {uris: \"http://h/x\", suites: stable, components: main, architectures: "
                   "[amd64, arm64], key: \"-----BEGIN PGP PUBLIC KEY BLOCK-----\"}\n"));
  ASSERT_OK(inventory);
  ASSERT_THAT(inventory->snapshots(), SizeIs(2));
  const SnapshotSource& debian = *inventory->snapshots()[0];
  EXPECT_EQ(debian.name, "debian");
  EXPECT_THAT(debian.uris,
              ElementsAre("http://mirror.example.org/debian", "https://[fd00::1]:8080/d/"));
  EXPECT_THAT(debian.suites, ElementsAre("bookworm", "bookworm-updates"));
  EXPECT_THAT(debian.components, ElementsAre("main", "non-free-firmware"));
  EXPECT_THAT(debian.architectures, ElementsAre("amd64"));
  EXPECT_EQ(debian.signed_by, "/usr/share/keyrings/debian-archive-keyring.gpg");
  EXPECT_EQ(inventory->snapshots()[1]->key, "-----BEGIN PGP PUBLIC KEY BLOCK-----");
}

TEST(SnapshotSource, FaultsAreNamedWithTheirPlace) {
  EXPECT_THAT(ParseSources("  a: {uri: x}\n  b: 1\n  \"c/d\": {}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(
      ParseSources("  a:\n"
                   "    uris: [ftp://h, \"http://u:p@h/\", \"http:///x\", \"http://h/?q\"]\n"
                   "    suites: [./, stable/, \"a b\", \"../x\", s, s]\n"
                   "    components: [\"\", \"main;\"]\n"
                   "    architectures: [all, AMD64]\n"
                   "    signed_by: keyring.gpg\n"
                   "    key: xyz\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(ParseInventory({{"a", absl::StrCat("cluster: x\nsnapshots:\n", kDebian)},
                              {"b", absl::StrCat("snapshots:\n", kDebian)}}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(SnapshotSource, AreShownAndComparedButNoMatterOfPlaybooks) {
  const Inventory without = ParseSources("  {}\n").value();
  const Inventory with = ParseSources(kDebian).value();
  EXPECT_EQ(ContentDigest(with), ContentDigest(without));
  EXPECT_THAT(DiffInventory(without, with), SizeIs(1));
  EXPECT_EQ(ToValue(with)["snapshots"]["debian"]["suites"][1], "bookworm-updates");
  EXPECT_FALSE(ToValue(without).contains("snapshots"));
}

}  // namespace
}  // namespace muster::controller
