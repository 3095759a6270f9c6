#include "common/sys/leftovers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/sys/file_system.h"
#include "common/sys/place.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::sys {
namespace {

using ::testing::ElementsAre;

class LeftoversTest : public ::testing::Test {
 protected:
  void Make(const std::string& name) { std::ofstream(absl::StrCat(folder_, "/", name)) << "x"; }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      names.insert(entry.path().filename());
    return names;
  }

  void Remove(absl::Time before) {
    const absl::StatusOr<Folder> folder = OpenFolder(folder_, "opening");
    ASSERT_OK(folder);
    RemoveLeftovers(*folder, "slurmd", before);
  }

  testing::TempDir temp_;
  const std::string folder_ = temp_.path();
  const std::string path_ = absl::StrCat(folder_, "/slurmd");
};

TEST_F(LeftoversTest, OfThisFileAndNoOther) {
  for (const char* name :
       {".slurmd.muster-54b1chcw", ".slurmd2.muster-54b1chcw", "slurmd", ".slurmd.muster-54b1chcwx",
        ".slurmd.muster-54b1", ".slurmd.dpkg-new", ".slurmd.muster.54b1chcw"})
    Make(name);
  Remove(absl::InfiniteFuture());
  EXPECT_THAT(Names(),
              ElementsAre(".slurmd.dpkg-new", ".slurmd.muster-54b1", ".slurmd.muster-54b1chcwx",
                          ".slurmd.muster.54b1chcw", ".slurmd2.muster-54b1chcw", "slurmd"));
}

TEST_F(LeftoversTest, OfAllFilesWhereNobodyElseWrites) {
  for (const char* name :
       {".slurmd.muster-54b1chcw", ".a.b.muster-54b1chcw", "slurmd", "..muster-54b1chcw",
        ".muster-54b1chcw", ".slurmd.muster-54b1chcwx", "a.muster-54b1chcw"})
    Make(name);
  const absl::StatusOr<Folder> folder = OpenFolder(folder_, "opening");
  ASSERT_OK(folder);
  RemoveAllLeftovers(*folder, absl::InfiniteFuture());
  EXPECT_THAT(Names(), ElementsAre("..muster-54b1chcw", ".muster-54b1chcw",
                                   ".slurmd.muster-54b1chcwx", "a.muster-54b1chcw", "slurmd"));
}

TEST_F(LeftoversTest, NotWhatIsBeingWrittenNow) {
  const absl::Time start = FirstWrite();
  Make(".slurmd.muster-54b1chcw");
  Remove(start);
  EXPECT_THAT(Names(), ElementsAre(".slurmd.muster-54b1chcw"));
}

TEST_F(LeftoversTest, LinksTooAndNothingBehindThem) {
  Make("target");
  std::filesystem::create_symlink(folder_ + "/target", folder_ + "/.slurmd.muster-54b1chcw");
  Remove(absl::InfiniteFuture());
  EXPECT_THAT(Names(), ElementsAre("target"));
}

TEST_F(LeftoversTest, AWriterThatIsKilledLeavesWhatIsKnownByItsName) {
  const pid_t child = ::fork();
  if (child == 0) {
    RealFileSystem files;
    files
        .WriteAtomically(path_, "new", {.verify = [](const std::string&) -> absl::Status {
                           ::raise(SIGKILL);
                           return absl::OkStatus();
                         }})
        .IgnoreError();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(Names().size(), 1u);
  Remove(absl::InfiniteFuture());
  EXPECT_TRUE(Names().empty());
}

TEST_F(LeftoversTest, NoneThatSomebodyElseMade) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  for (const char* name : {".slurmd.muster-54b1chcw", ".slurmd.muster-54b1chcx"}) Make(name);
  ASSERT_EQ(::chown((folder_ + "/.slurmd.muster-54b1chcw").c_str(), 64999, 64999), 0);
  Remove(absl::InfiniteFuture());
  EXPECT_THAT(Names(), ElementsAre(".slurmd.muster-54b1chcw"));
}

// Filling a folder does not hold up the writer of a file in it.
TEST_F(LeftoversTest, LooksAtTenThousandNamesAtTheMost) {
  for (int i = 0; i < 12'000; ++i) {
    const std::string name = absl::StrFormat("%s/.slurmd.muster-%08d", folder_, i);
    ASSERT_EQ(::symlink("x", name.c_str()), 0);
  }
  Remove(absl::InfiniteFuture());
  EXPECT_GE(Names().size(), 2'000u);
  EXPECT_LT(Names().size(), 12'000u);
}

}  // namespace
}  // namespace muster::sys
