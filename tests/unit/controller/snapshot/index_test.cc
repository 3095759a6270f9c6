// Release files and indexes of packages.
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/digest.h"
#include "controller/snapshot/control_file.h"
#include "controller/snapshot/package_list.h"
#include "controller/snapshot/release.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::snapshot {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;

const std::string kDigest = Sha256Hex("a");
const std::string kOther = Sha256Hex("b");

std::string Entry(const std::string& path) {
  return absl::StrCat(" ", kDigest, "   12 ", path, "\n");
}

TEST(ControlFile, FieldsMayHaveSeveralLines) {
  ControlReader reader("\n\nA: one\nB:\n two\n .\n\tthree\n\n \nC:four\n");
  const absl::StatusOr<Paragraph> first = reader.Next();
  ASSERT_OK(first);
  EXPECT_EQ(first->Get("a"), "one");
  EXPECT_EQ(first->Get("B"), "\n two\n .\n\tthree");
  EXPECT_EQ(first->Get("C"), "");
  EXPECT_EQ(reader.Next()->Get("C"), "four");
  EXPECT_TRUE(reader.Next()->empty());
}

TEST(ControlFile, WhatIsNoFieldIsRefusedWithItsLine) {
  for (const std::string text :
       {"A: 1\nnonsense\n", " continued\n", "A: 1\na: 2\n", ": 1\n", "A B: 1\n", "\x01: 1\n"}) {
    EXPECT_THAT(ControlReader(text).Next(), StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << text;
  }
}

TEST(ControlFile, PathsStayBelowTheirFolder) {
  for (const std::string path : {"pool/main/b/bash_5.2~1+b2_amd64.deb", "a", "a%3a1"})
    EXPECT_TRUE(IsPlainPath(path)) << path;
  for (const std::string path :
       {"", "/a", "a/", "a//b", "../a", "a/../b", "a/.", "a b", "a\tb", "a\n", "\xc3\xa9"}) {
    EXPECT_FALSE(IsPlainPath(path)) << path;
  }
  EXPECT_FALSE(IsPlainPath(std::string(1025, 'x')));
}

TEST(Release, HasTheDigestsOfItsIndexes) {
  const absl::StatusOr<Release> release = ParseRelease(absl::StrCat(
      "Suite: stable\nDate: Sat, 07 Nov 2026 09:46:22 UTC\nValid-Until: Sat, 14 Nov 2026 09:46:22 "
      "+0000\nAcquire-By-Hash: yes\nArchitectures: all amd64\n"
      "No-Support-for-Architecture-all: Packages\nMD5Sum:\n 0 1 x\nSHA256:\n",
      Entry("main/binary-amd64/Packages"), Entry("main/binary-amd64/Packages.xz")));
  ASSERT_OK(release);
  EXPECT_EQ(absl::FormatTime(*release->date, absl::UTCTimeZone()), "2026-11-07T09:46:22+00:00");
  EXPECT_EQ(*release->valid_until - *release->date, absl::Hours(24 * 7));
  EXPECT_TRUE(release->has_by_hash);
  EXPECT_FALSE(release->all_is_apart);
  ASSERT_THAT(release->files, SizeIs(2));
  EXPECT_EQ(release->files.at("main/binary-amd64/Packages.xz").sha256, kDigest);
  EXPECT_EQ(release->files.at("main/binary-amd64/Packages.xz").size, 12u);
}

TEST(Release, WhatCannotBeIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("Suite: stable\n"), std::string("SHA256:\n"),
        absl::StrCat("SHA256:\n", Entry("../../x")), absl::StrCat("SHA256:\n", Entry("/etc/x")),
        absl::StrCat("SHA256:\n ", kDigest, " x main\n"), std::string("SHA256:\n abc 1 main\n"),
        absl::StrCat("Date: yesterday\nSHA256:\n", Entry("x"))}) {
    EXPECT_THAT(ParseRelease(text), StatusIs(absl::StatusCode::kInvalidArgument, Said())) << text;
  }
}

TEST(Release, WhatAptInsistsOnIsChosen) {
  const std::string main = "main/binary-amd64/Packages";
  std::string files = Entry(main);
  for (const std::string path :
       {"main/i18n/Translation-de.bz2", "main/i18n/Translation-en", "main/i18n/Translation-en.bz2",
        "main/i18n/Translation-pt_BR.gz", "main/i18n/Index", "main/cnf/Commands-amd64.xz",
        "main/cnf/Commands-arm64.xz", "main/dep11/Components-amd64.yml.xz", "main/Contents-amd64",
        "contrib/i18n/Translation-en.xz", "main/i18n/Translation-en.zst"})
    files += Entry(path);
  const Release release = ParseRelease("SHA256:\n" + files).value();
  EXPECT_THAT(*ChooseIndexes(release, {"main"}, {"amd64"}),
              ElementsAre(Field(&IndexFile::path, main),
                          Field(&IndexFile::path, "main/cnf/Commands-amd64.xz"),
                          Field(&IndexFile::path, "main/i18n/Translation-de.bz2"),
                          Field(&IndexFile::path, "main/i18n/Translation-en.bz2"),
                          Field(&IndexFile::path, "main/i18n/Translation-pt_BR.gz")));
  EXPECT_TRUE(IsPackageIndex(main + ".xz"));
  EXPECT_FALSE(IsPackageIndex("main/i18n/Translation-en"));
}

TEST(Release, TheSmallestFormOfEachIndexIsChosen) {
  const std::string files = absl::StrCat(
      Entry("main/binary-amd64/Packages"), Entry("main/binary-amd64/Packages.gz"),
      Entry("main/binary-amd64/Packages.xz"), Entry("contrib/binary-amd64/Packages.gz"),
      Entry("main/binary-all/Packages.xz"), Entry("main/i18n/Translation-en.xz"));
  Release release =
      ParseRelease(absl::StrCat("Architectures: all amd64\nSHA256:\n", files)).value();
  EXPECT_TRUE(release.all_is_apart);
  EXPECT_THAT(*ChooseIndexes(release, {"main", "contrib"}, {"amd64"}),
              ElementsAre(Field(&IndexFile::path, "main/binary-amd64/Packages.xz"),
                          Field(&IndexFile::path, "main/binary-all/Packages.xz"),
                          Field(&IndexFile::path, "contrib/binary-amd64/Packages.gz"),
                          Field(&IndexFile::path, "main/i18n/Translation-en.xz")));
  release.all_is_apart = false;
  EXPECT_THAT(ChooseIndexes(release, {"main"}, {"arm64"}),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

std::string PackageText(const std::string& path, const std::string& digest = kDigest) {
  return absl::StrCat("Package: tool\nVersion: 1:1.0-1\nArchitecture: amd64\nFilename: ", path,
                      "\nSize: 512\nSHA256: ", digest, "\nDescription: a tool\n with words\n\n");
}

TEST(PackageList, FindsPackagesByTheirPath) {
  std::vector<Package> packages =
      ParsePackages(PackageText("pool/t/tool.deb") + PackageText("./pool/a.deb", kOther)).value();
  ASSERT_THAT(packages, SizeIs(2));
  packages.push_back(packages[0]);  // two suites may have it
  const std::string text = PackageList::Write(packages).value();
  const auto list = PackageList::Read(text).value();
  EXPECT_EQ(list->size(), 2u);
  const std::optional<Package> found = list->Find("pool/t/tool.deb");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->name, "tool");
  EXPECT_EQ(found->version, "1:1.0-1");
  EXPECT_EQ(found->architecture, "amd64");
  EXPECT_EQ(found->sha256, kDigest);
  EXPECT_EQ(found->size, 512u);
  EXPECT_EQ(list->Find("pool/a.deb")->sha256, kOther);
  for (const std::string path : {"", "pool", "pool/t/tool.debx", "pool/t/tool.de", "zzz"})
    EXPECT_FALSE(list->Find(path).has_value()) << path;
  EXPECT_EQ(PackageList::Read("").value()->size(), 0u);
}

TEST(PackageList, OneFileHasOneContent) {
  const auto packages =
      ParsePackages(PackageText("pool/a.deb") + PackageText("pool/a.deb", kOther)).value();
  EXPECT_THAT(PackageList::Write(packages), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(PackageList, PackagesThatLackSomethingAreRefused) {
  const std::string whole = PackageText("pool/a.deb");
  ASSERT_OK(ParsePackages(whole));
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"Package: tool\n", ""},
                                                        {"Version: 1:1.0-1", "Version: 1 0"},
                                                        {"Size: 512", "Size: many"},
                                                        {"Size: 512", "Size: 0"},
                                                        {"pool/a.deb", "../a.deb"},
                                                        {"pool/a.deb", "/a.deb"},
                                                        {kDigest, "0000"}}) {
    EXPECT_THAT(ParsePackages(absl::StrReplaceAll(whole, {{from, to}})),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()))
        << from;
  }
}

TEST(PackageList, ADamagedListIsRefused) {
  const std::string text =
      PackageList::Write(
          ParsePackages(PackageText("pool/b.deb") + PackageText("pool/c.deb")).value())
          .value();
  ASSERT_OK(PackageList::Read(text));
  EXPECT_FALSE(PackageList::Read(text + "pool/a.deb\n").ok());
  EXPECT_FALSE(PackageList::Read(text + text).ok());
  EXPECT_FALSE(PackageList::Read(absl::StrReplaceAll(text, {{"512", "-1"}})).ok());
}

}  // namespace
}  // namespace muster::controller::snapshot
