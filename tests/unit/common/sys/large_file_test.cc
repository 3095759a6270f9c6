#include "common/sys/large_file.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <string>
#include <thread>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/sys/atomic_write.h"
#include "common/sys/file_system.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::sys {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

class LargeFileTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) { return dir_.path() + "/" + name; }

  muster::testing::TempDir dir_;
  RealFileSystem files_;
  const std::string content_ = std::string(3'000'000, 'x') + "end";
};

TEST_F(LargeFileTest, Sha256OfFileIsThatOfItsContent) {
  ASSERT_OK(files_.WriteAtomically(Path("a"), content_, {}));
  EXPECT_EQ(Sha256OfFile(Path("a"), /*sync=*/true).value(), Sha256Hex(content_));
  EXPECT_THAT(Sha256OfFile(Path("none")), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(Sha256OfFile(dir_.path()), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Sha256OfFile(Path("a"), false, [] { return true; }),
              StatusIs(absl::StatusCode::kCancelled, Said()));
}

TEST_F(LargeFileTest, PlaceFileCopiesOrMoves) {
  for (const bool may_move : {false, true}) {
    ASSERT_OK(files_.WriteAtomically(Path("from"), content_, {}));
    ASSERT_OK(files_.WriteAtomically(Path("to"), "old", {}));
    ASSERT_OK(PlaceFile(Path("from"), Path("to"), {.mode = 0600}, may_move));
    EXPECT_EQ(files_.Read(Path("to")).value(), content_);
    EXPECT_EQ((*files_.Stat(Path("to")))->mode, 0600u);
    EXPECT_EQ(files_.Stat(Path("from"))->has_value(), !may_move);
  }
  EXPECT_THAT(files_.List(dir_.path()).value(), ElementsAre("to"));
}

// A file that is moved keeps the label of the folder that it comes from.
TEST_F(LargeFileTest, PlaceFileCopiesAFileWithALabelToAnotherFolder) {
  ASSERT_OK(files_.WriteAtomically(Path("from"), content_, {}));
  constexpr absl::string_view kLabel = "system_u:object_r:var_lib_t:s0";
  if (::setxattr(Path("from").c_str(), "security.selinux", kLabel.data(), kLabel.size(), 0) != 0)
    GTEST_SKIP() << "labels cannot be set here";
  ASSERT_OK(files_.MakeDirectory(Path("elsewhere"), 0755));
  ASSERT_OK(PlaceFile(Path("from"), Path("elsewhere/to"), {.mode = 0600}, /*may_move=*/true));
  EXPECT_TRUE(files_.Stat(Path("from"))->has_value());
  EXPECT_EQ(files_.Read(Path("elsewhere/to")).value(), content_);
  // It is right in its own folder.
  ASSERT_OK(PlaceFile(Path("from"), Path("to"), {.mode = 0600}, /*may_move=*/true));
  EXPECT_FALSE(files_.Stat(Path("from"))->has_value());
}

TEST_F(LargeFileTest, PlaceFileLeavesAFileWithSeveralNamesAlone) {
  ASSERT_OK(files_.WriteAtomically(Path("from"), content_, {}));
  ASSERT_EQ(::link(Path("from").c_str(), Path("other").c_str()), 0);
  ASSERT_OK(PlaceFile(Path("from"), Path("to"), {.mode = 0755}, /*may_move=*/true));
  EXPECT_EQ((*files_.Stat(Path("other")))->mode, 0644u);
  EXPECT_EQ((*files_.Stat(Path("to")))->mode, 0755u);
}

// Such as the root of a node that runs from memory: files and folders have different devices there.
TEST_F(LargeFileTest, PlaceFileMovesOnAnOverlayOverTwoFileSystems) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounts need root";
  // The mounts are this thread's own, and go with it.
  std::thread([this] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    for (const char* folder : {"lower", "memory", "root"})
      ASSERT_OK(files_.MakeDirectory(Path(folder), 0755));
    ASSERT_EQ(::mount("tmpfs", Path("memory").c_str(), "tmpfs", 0, nullptr), 0);
    for (const char* folder : {"memory/upper", "memory/work"})
      ASSERT_OK(files_.MakeDirectory(Path(folder), 0755));
    const std::string options =
        absl::StrCat("lowerdir=", Path("lower"), ",upperdir=", Path("memory/upper"),
                     ",workdir=", Path("memory/work"), ",xino=off");
    ASSERT_EQ(::mount("overlay", Path("root").c_str(), "overlay", 0, options.c_str()), 0);
    ASSERT_OK(files_.WriteAtomically(Path("root/from"), content_, {}));
    struct stat file = {}, folder = {};
    ASSERT_EQ(::stat(Path("root/from").c_str(), &file), 0);
    ASSERT_EQ(::stat(Path("root").c_str(), &folder), 0);
    ASSERT_NE(file.st_dev, folder.st_dev);
    ASSERT_OK(PlaceFile(Path("root/from"), Path("root/to"), {}, /*may_move=*/true));
    EXPECT_EQ(files_.Read(Path("root/to")).value(), content_);
    EXPECT_THAT(files_.List(Path("root")).value(), ElementsAre("to"));
  }).join();
}

TEST_F(LargeFileTest, PlaceFileRefusesDirectoriesAndLeavesNoDebris) {
  ASSERT_OK(files_.WriteAtomically(Path("from"), content_, {}));
  ASSERT_OK(files_.MakeDirectory(Path("to"), 0755));
  for (const bool may_move : {false, true})
    EXPECT_THAT(PlaceFile(Path("from"), Path("to"), {}, may_move),
                StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(files_.List(dir_.path()).value(), ElementsAre("from", "to"));
}

}  // namespace
}  // namespace muster::sys
