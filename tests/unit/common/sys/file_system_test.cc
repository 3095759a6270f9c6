#include "common/sys/file_system.h"
#include "tests/fixtures/golden_texts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>

#include "tests/fixtures/status_matchers.h"

namespace muster::sys {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/muster-fs-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { EXPECT_OK(fs_.Remove(folder_, /*recursive=*/true)); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  RealFileSystem fs_;
  std::string folder_;
};

TEST_F(FileSystemTest, WritesReadsAndKeepsMode) {
  ASSERT_OK(fs_.WriteAtomically(Path("a"), "one", {.mode = 0600}));
  ASSERT_OK(fs_.WriteAtomically(Path("a"), "two", {}));
  EXPECT_EQ(fs_.Read(Path("a")).value(), "two");
  EXPECT_EQ(fs_.Stat(Path("a")).value()->mode, 0600u);
  ASSERT_OK(fs_.WriteAtomically(Path("b"), "", {}));
  EXPECT_EQ(fs_.Stat(Path("b")).value()->mode, 0644u);
  EXPECT_THAT(fs_.List(folder_).value(), ElementsAre("a", "b"));
}

TEST_F(FileSystemTest, ReplacesALinkInsteadOfFollowingIt) {
  ASSERT_OK(fs_.WriteAtomically(Path("target"), "precious", {}));
  ASSERT_OK(fs_.MakeSymlink(Path("target"), Path("link")));
  ASSERT_OK(fs_.WriteAtomically(Path("link"), "new", {}));
  EXPECT_EQ(fs_.Read(Path("target")).value(), "precious");
  EXPECT_EQ(fs_.Stat(Path("link")).value()->type, FileType::kRegular);
}

TEST_F(FileSystemTest, ReplacesALinkInOneStep) {
  ASSERT_OK(fs_.MakeSymlink("one", Path("link")));
  ASSERT_OK(fs_.MakeSymlink("two", Path("link")));
  EXPECT_EQ(fs_.ReadLink(Path("link")).value(), "two");
  ASSERT_OK(fs_.MakeDirectory(Path("d"), 0755));
  EXPECT_THAT(fs_.MakeSymlink("x", Path("d")),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(fs_.List(folder_).value(), ElementsAre("d", "link"));
}

TEST_F(FileSystemTest, AFailedVerificationKeepsTheOldFile) {
  ASSERT_OK(fs_.WriteAtomically(Path("a"), "old", {}));
  std::string seen;
  const absl::Status status = fs_.WriteAtomically(
      Path("a"), "new", {.mode = 0640, .verify = [&](const std::string& path) {
                           seen = fs_.Read(path).value();
                           EXPECT_EQ(fs_.Stat(path).value()->mode, 0640u);
                           return absl::InvalidArgumentError("line 3: nonsense");
                         }});
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, "line 3: nonsense"));
  EXPECT_EQ(seen, "new");
  EXPECT_EQ(fs_.Read(Path("a")).value(), "old");
  EXPECT_THAT(fs_.List(folder_).value(), ElementsAre("a"));
}

TEST_F(FileSystemTest, NamesWhatIsMissingOrInTheWay) {
  EXPECT_THAT(fs_.Read(Path("no")),
              StatusIs(absl::StatusCode::kNotFound, AllOf(Said(), HasSubstr(Path("no")))));
  EXPECT_THAT(fs_.WriteAtomically(Path("no/file"), "x", {}),
              StatusIs(absl::StatusCode::kNotFound, AllOf(Said(), HasSubstr(Path("no/file")))));
  ASSERT_OK(fs_.MakeDirectory(Path("d"), 0755));
  EXPECT_THAT(fs_.WriteAtomically(Path("d"), "x", {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(fs_.Stat(Path("no/thing")).value(), std::nullopt);
  EXPECT_THAT(fs_.SetAttributes(Path("no"), {.mode = 0600}),
              StatusIs(absl::StatusCode::kNotFound, AllOf(Said(), HasSubstr(Path("no")))));
}

TEST_F(FileSystemTest, BoundsWhatItReads) {
  ASSERT_OK(fs_.WriteAtomically(Path("a"), std::string(10000, 'x'), {}));
  EXPECT_EQ(fs_.Read(Path("a"), 10000).value().size(), 10000u);
  EXPECT_THAT(fs_.Read(Path("a"), 9999), StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  EXPECT_THAT(fs_.Read("/dev/zero", 5000), StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  EXPECT_FALSE(fs_.Read("/proc/self/status").value().empty());
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_THAT(fs_.Read(Path("fifo")), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(FileSystemTest, MakesDirectoriesWithTheWholeModeWhateverTheUmask) {
  const mode_t old = ::umask(077);
  ASSERT_OK(fs_.MakeDirectory(Path("x/y"), 02775));
  ::umask(old);
  EXPECT_EQ(fs_.Stat(Path("x/y")).value()->mode, 02775u);
  ASSERT_OK(fs_.MakeDirectory(Path("x/y"), 0700));
  EXPECT_EQ(fs_.Stat(Path("x/y")).value()->mode, 02775u);
}

TEST_F(FileSystemTest, RemovesTreesWithoutFollowingLinks) {
  ASSERT_OK(fs_.MakeDirectory(Path("keep"), 0755));
  ASSERT_OK(fs_.WriteAtomically(Path("keep/file"), "x", {}));
  ASSERT_OK(fs_.MakeDirectory(Path("tree/deep"), 0755));
  ASSERT_OK(fs_.WriteAtomically(Path("tree/deep/file"), "x", {}));
  ASSERT_OK(fs_.MakeSymlink(Path("keep"), Path("tree/link")));
  EXPECT_THAT(fs_.Remove(Path("tree"), false),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ASSERT_OK(fs_.Remove(Path("tree"), true));
  ASSERT_OK(fs_.Remove(Path("tree"), true));
  EXPECT_THAT(fs_.List(folder_).value(), ElementsAre("keep"));
  EXPECT_EQ(fs_.Read(Path("keep/file")).value(), "x");
}

TEST_F(FileSystemTest, SetsAttributesButNotThroughALink) {
  ASSERT_OK(fs_.WriteAtomically(Path("a"), "x", {}));
  ASSERT_OK(fs_.SetAttributes(Path("a"), {.mode = 0400}));
  EXPECT_EQ(fs_.Stat(Path("a")).value()->mode, 0400u);
  ASSERT_OK(fs_.MakeSymlink("a", Path("link")));
  EXPECT_THAT(fs_.SetAttributes(Path("link"), {.mode = 0600}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  if (::geteuid() != 0) return;
  ASSERT_OK(fs_.WriteAtomically(Path("owned"), "x", {.mode = 04755, .uid = 12, .gid = 34}));
  const FileStat stat = *fs_.Stat(Path("owned")).value();
  EXPECT_EQ(stat.uid, 12u);
  EXPECT_EQ(stat.gid, 34u);
  EXPECT_EQ(stat.mode, 04755u);
}

// A separate small file system.
class SmallDiskTest : public FileSystemTest {
 protected:
  void SetUp() override {
    FileSystemTest::SetUp();
    disk_ = Path("disk");
    ASSERT_OK(fs_.MakeDirectory(disk_, 0755));
    if (::mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=64k") != 0)
      FAIL() << "mounting a tmpfs needs root";
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) {
      EXPECT_EQ(::umount2(disk_.c_str(), MNT_DETACH), 0);
    }
    FileSystemTest::TearDown();
  }
  std::string disk_;
  bool mounted_ = false;
};

TEST_F(FileSystemTest, WritesToTheKernelWhatIsThere) {
  const std::string path = folder_ + "/parameter";
  EXPECT_THAT(fs_.WriteToKernel(path, "1"),
              StatusIs(absl::StatusCode::kNotFound, AllOf(Said(), HasSubstr(path))));
  ASSERT_OK(fs_.WriteAtomically(path, "60000\n", {}));
  ASSERT_OK(fs_.WriteToKernel(path, "10\n"));
  EXPECT_EQ(fs_.Read(path).value(), "10\n");
}

TEST_F(SmallDiskTest, AFullDiskLeavesTheOldFileAndNoDebris) {
  const std::string path = disk_ + "/a";
  ASSERT_OK(fs_.WriteAtomically(path, "old", {}));
  EXPECT_THAT(fs_.WriteAtomically(path, std::string(200000, 'x'), {}),
              StatusIs(absl::StatusCode::kResourceExhausted, AllOf(Said(), HasSubstr(path))));
  EXPECT_EQ(fs_.Read(path).value(), "old");
  EXPECT_THAT(fs_.List(disk_).value(), ElementsAre("a"));
}

TEST_F(SmallDiskTest, AReadOnlyDiskIsNamed) {
  const std::string path = disk_ + "/a";
  ASSERT_OK(fs_.WriteAtomically(path, "old", {}));
  ASSERT_EQ(::mount(nullptr, disk_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  EXPECT_THAT(fs_.WriteAtomically(path, "new", {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(Said(), HasSubstr(path))));
  EXPECT_EQ(fs_.Read(path).value(), "old");
}

TEST_F(SmallDiskTest, RemovesNothingBeyondAMount) {
  ASSERT_OK(fs_.WriteAtomically(disk_ + "/a", "kept", {}));
  EXPECT_THAT(fs_.Remove(folder_, true), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(fs_.Remove(disk_, true), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(fs_.Read(disk_ + "/a").value(), "kept");
  // A bind mount has the device of the folder around it.
  ASSERT_OK(fs_.MakeDirectory(disk_ + "/in/bound", 0755));
  ASSERT_OK(fs_.MakeDirectory(disk_ + "/data", 0755));
  ASSERT_OK(fs_.WriteAtomically(disk_ + "/data/b", "kept", {}));
  const std::string bound = disk_ + "/in/bound";
  ASSERT_EQ(::mount((disk_ + "/data").c_str(), bound.c_str(), nullptr, MS_BIND, nullptr), 0);
  EXPECT_THAT(fs_.Remove(disk_ + "/in", true),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(fs_.Read(disk_ + "/data/b").value(), "kept");
  ASSERT_EQ(::umount2(bound.c_str(), MNT_DETACH), 0);
  EXPECT_OK(fs_.Remove(disk_ + "/in", true));
}

}  // namespace
}  // namespace muster::sys
