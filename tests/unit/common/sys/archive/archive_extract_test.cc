#include "common/sys/archive/archive_extract.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "common/base/status.h"
#include "common/sys/archive/archive_entry_path.h"
#include "common/sys/place.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/raw_archive.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::sys {
namespace {

using ::muster::testing::Directory;
using ::muster::testing::Hardlink;
using ::muster::testing::MakeRawArchive;
using ::muster::testing::RawEntry;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::muster::testing::Symlink;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(EntryPath, CleansAndStrips) {
  EXPECT_EQ(EntryPath("a/b", 0).value(), "a/b");
  EXPECT_EQ(EntryPath("./a//b/./", 0).value(), "a/b");
  EXPECT_EQ(EntryPath("a/b/c", 2).value(), "c");
  EXPECT_EQ(EntryPath("./a/b", 1).value(), "b");
  EXPECT_EQ(EntryPath("a", 1).value(), "");
  EXPECT_EQ(EntryPath("./", 0).value(), "");
}

TEST(EntryPath, RefusesWhatLeaves) {
  for (const std::string path : {"/etc/passwd", "../x", "a/../../x", "a/..", "a/../b", ""})
    EXPECT_THAT(EntryPath(path, 0), StatusIs(absl::StatusCode::kInvalidArgument, Said())) << path;
  EXPECT_FALSE(EntryPath(absl::string_view("a\0b", 3), 0).ok());
  EXPECT_FALSE(EntryPath(std::string(300, 'a'), 0).ok());
  // Stripping does not remove the danger.
  EXPECT_FALSE(EntryPath("../../a/b", 2).ok());
}

TEST(CheckLink, FollowsLinksThroughLinks) {
  const auto check = [](const LinkMap& links) {
    for (const auto& [path, target] : links)
      if (!CheckLink(links, path, "/opt/app").ok()) return false;
    return true;
  };
  EXPECT_TRUE(check({{"a", "b"}}));
  EXPECT_TRUE(check({{"lib/a", "../b"}}));
  EXPECT_TRUE(check({{"a", "."}, {"b/c", ".."}}));
  EXPECT_TRUE(check({{"a", "/opt/app/b"}, {"c", "/opt/app"}}));
  EXPECT_FALSE(check({{"a", ".."}}));
  EXPECT_FALSE(check({{"a", "/etc"}}));
  EXPECT_FALSE(check({{"a", "/opt/apple"}}));
  EXPECT_FALSE(check({{"a", "/opt/app/../x"}}));
  EXPECT_FALSE(check({{"lib/a", "../../b"}}));
  EXPECT_FALSE(check({{"a", "b/../.."}}));
  // Each looks harmless alone: x/y/l is the tree itself, so m is its parent.
  EXPECT_FALSE(check({{"m", "x/y/l/.."}, {"x/y/l", "../.."}}));
  EXPECT_FALSE(check({{"a", "b"}, {"b", "a"}}));
}

class ExtractTest : public ::testing::Test {
 protected:
  ExtractTest() {
    EXPECT_OK(files_.MakeDirectory(Path("to"), 0755));
    options_ = {.uid = ::geteuid(), .gid = ::getegid(), .max_bytes = 1 << 20, .max_entries = 100};
    options_.place = "/opt/app";
  }
  std::string Path(const std::string& name) { return dir_.path() + "/" + name; }
  absl::StatusOr<std::vector<ExtractedEntry>> Extract(const std::string& bytes) {
    EXPECT_OK(files_.WriteAtomically(Path("archive"), bytes, {}));
    ASSIGN_OR_RETURN(const UniqueFd archive,
                     OpenFile(Path("archive"), O_RDONLY, LastLink::kRefuse, "reading"));
    ASSIGN_OR_RETURN(const Folder to, OpenFolder(Path("to"), "opening"));
    return ExtractArchive(archive.get(), to, options_);
  }
  absl::StatusOr<std::vector<ExtractedEntry>> Extract(const std::vector<RawEntry>& entries) {
    return Extract(MakeRawArchive(entries));
  }
  std::string Read(const std::string& name) { return files_.Read(Path("to/" + name)).value(); }
  mode_t Mode(const std::string& name) { return (*files_.Stat(Path("to/" + name)))->mode; }

  muster::testing::TempDir dir_;
  RealFileSystem files_;
  ExtractOptions options_;
};

TEST_F(ExtractTest, UnpacksWhatIsDecent) {
  const mode_t before = ::umask(0);
  ::umask(before);
  const auto entries = Extract({Directory("app", 0750),
                                {.path = "app/bin/tool", .content = "#!/bin/sh\n", .mode = 0755},
                                {.path = "./app/readme", .content = ""},
                                Symlink("app/link", "bin/tool"),
                                Hardlink("app/twin", "app/bin/tool")});
  ASSERT_OK(entries);
  EXPECT_EQ(Read("app/link"), "#!/bin/sh\n");
  EXPECT_EQ(Read("app/twin"), "#!/bin/sh\n");
  EXPECT_EQ(Mode("app"), 0750u);
  EXPECT_EQ(Mode("app/bin"), 0755u);
  EXPECT_EQ(Mode("app/bin/tool"), 0755u);
  EXPECT_EQ((*files_.Stat(Path("to/app/readme")))->modified_ns, 1'600'000'000'000'000'000);
  std::vector<std::string> paths;
  for (const ExtractedEntry& entry : *entries) paths.push_back(entry.path);
  EXPECT_THAT(paths,
              ElementsAre("app", "app/bin", "app/bin/tool", "app/readme", "app/link", "app/twin"));
  EXPECT_EQ((*entries)[2].size, 10u);
  EXPECT_EQ((*entries)[4].link_target, "bin/tool");
  // The thread's changes to itself did not affect others.
  EXPECT_EQ(::umask(before), before);
  char* cwd = ::get_current_dir_name();
  EXPECT_STRNE(cwd, Path("to").c_str());
  ::free(cwd);
}

TEST_F(ExtractTest, UnpacksZipAndStrips) {
  options_.strip_components = 1;
  ASSERT_OK(
      Extract(MakeRawArchive({{.path = "top"}, {.path = "app-1.0/a", .content = "1"}}, true)));
  EXPECT_THAT(files_.List(Path("to")).value(), ElementsAre("a"));
}

TEST_F(ExtractTest, TakesNamesOfAnyBytes) {
  ASSERT_OK(Extract(std::vector<RawEntry>{{.path = "\xff\xfe.txt", .content = "1"}}));
  EXPECT_EQ(Read("\xff\xfe.txt"), "1");
}

TEST_F(ExtractTest, RefusesHostileEntries) {
  const struct {
    const char* name;
    std::vector<RawEntry> entries;
    const char* entry;
    const char* why;
  } kCases[] = {
      {"absolute", {{.path = "/etc/shadow"}}, "'/etc/shadow'", "absolute"},
      {"climbs", {{.path = "a/../../b"}}, "'a/../../b'", "'..'"},
      {"link out", {Symlink("l", "../x")}, "'l'", "leaves the target"},
      {"absolute link", {Symlink("l", "/etc")}, "'l'", "leaves the target"},
      {"link by links", {Symlink("x/l", ".."), Symlink("m", "x/l/..")}, "'m'", "leaves"},
      {"later link", {Symlink("m", "x/l/.."), Symlink("x/l", "..")}, "'m'", "leaves"},
      {"through a link", {Symlink("l", "sub"), {.path = "l/f"}}, "'l/f'", "symbolic link"},
      {"over a link", {Symlink("l", "sub"), {.path = "l"}}, "'l'", "twice"},
      {"through a file", {{.path = "f"}, {.path = "f/g"}}, "'f/g'", "not a directory"},
      {"hard link out", {Hardlink("h", "/etc/shadow")}, "'h'", "leaves the archive"},
      {"hard link up", {Hardlink("h", "../x")}, "'h'", "leaves the archive"},
      {"hard link to nothing", {Hardlink("h", "none")}, "'h'", "not a file before it"},
      {"hard link to a link",
       {Symlink("l", "a"), Hardlink("h", "l")},
       "'h'",
       "not a file before it"},
      {"device", {{.path = "null", .type = AE_IFCHR}}, "'null'", "device"},
      {"pipe", {{.path = "pipe", .type = AE_IFIFO}}, "'pipe'", "pipe"},
      {"set-uid", {{.path = "su", .mode = 04755}}, "'su'", "set-uid"},
      {"set-gid", {{.path = "sg", .mode = 02755}}, "'sg'", "set-gid"},
      {"twice", {{.path = "a"}, {.path = "./a"}}, "'a'", "twice"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    ASSERT_OK(files_.Remove(Path("to"), true));
    ASSERT_OK(files_.MakeDirectory(Path("to"), 0755));
    EXPECT_THAT(Extract(c.entries), StatusIs(absl::StatusCode::kInvalidArgument,
                                             AllOf(Said(), HasSubstr(c.entry), HasSubstr(c.why))));
    EXPECT_THAT(files_.List(dir_.path()).value(), ElementsAre("archive", "to"));
  }
}

TEST_F(ExtractTest, TakesSpecialBitsWhenAsked) {
  options_.allow_special = true;
  ASSERT_OK(Extract(std::vector<RawEntry>{{.path = "su", .mode = 04755}}));
  EXPECT_EQ(Mode("su"), 04755u);
}

TEST_F(ExtractTest, StopsAtItsLimits) {
  options_.max_bytes = 5000;
  EXPECT_THAT(Extract({{.path = "a", .content = std::string(5001, 'x')}}),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  ASSERT_OK(files_.Remove(Path("to"), true));
  ASSERT_OK(files_.MakeDirectory(Path("to"), 0755));
  options_.max_entries = 2;
  EXPECT_THAT(Extract({{.path = "a/b/c"}}), StatusIs(absl::StatusCode::kResourceExhausted, Said()));
}

TEST_F(ExtractTest, ReportsDamage) {
  std::string noise;
  for (int i = 0; i < 100'000; ++i) noise.push_back(static_cast<char>(i * 7919 >> 3));
  const std::string good = MakeRawArchive({{.path = "a", .content = noise}});
  for (const size_t size : {good.size() / 4, good.size() / 2, good.size() - 9}) {
    ASSERT_OK(files_.Remove(Path("to"), true));
    ASSERT_OK(files_.MakeDirectory(Path("to"), 0755));
    EXPECT_FALSE(Extract(good.substr(0, size)).ok()) << size;
  }
  EXPECT_THAT(Extract(std::string("this is not an archive at all")),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(ExtractTest, EndsWhenItIsToldTo) {
  options_.cancelled = [] { return true; };
  EXPECT_THAT(Extract({{.path = "a"}}), StatusIs(absl::StatusCode::kCancelled, Said()));
}

}  // namespace
}  // namespace muster::sys
