#include "controller/backup/backup_leftovers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "controller/backup/backup_paths.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

namespace fs = std::filesystem;

class LeftoversTest : public ::testing::Test {
 protected:
  fs::path At(const std::string& name) const { return fs::path(folder_.path()) / name; }
  void Leave(const std::string& name) { std::ofstream(At(name)) << "half"; }

  muster::testing::TempDir folder_;
};

TEST_F(LeftoversTest, NamesSayWhatTheyAre) {
  EXPECT_TRUE(IsLeftover(Leftover::kPartial, PartialName("b.tgz")));
  EXPECT_TRUE(IsLeftover(Leftover::kStaging, ".muster-backup-a1B2c3"));
  for (const char* name : {"b.tgz", ".partial-12", "b.partial-12", ".b.partial-", ".b.partial-1x",
                           ".muster-backup-a1B2c3"})
    EXPECT_FALSE(IsLeftover(Leftover::kPartial, name)) << name;
  for (const char* name : {".muster-backup-", ".muster-backup-a1B2c34", "muster-backup-a1B2c3"})
    EXPECT_FALSE(IsLeftover(Leftover::kStaging, name)) << name;
}

TEST_F(LeftoversTest, GoWithTheNextBackupOfTheFolder) {
  fs::create_directory(At(".muster-backup-a1b2c3"));
  Leave(".muster-backup-a1b2c3/store.db");
  Leave(".muster-backup-a1b2c4");  // not a folder
  Leave(".b.tgz.partial-12");
  {
    const FolderShare share(folder_.path(), Leftover::kStaging);
    EXPECT_FALSE(fs::exists(At(".muster-backup-a1b2c3")));
    EXPECT_TRUE(fs::exists(At(".muster-backup-a1b2c4")));
    EXPECT_TRUE(fs::exists(At(".b.tgz.partial-12")));
  }
  const FolderShare share(folder_.path(), Leftover::kPartial);
  EXPECT_FALSE(fs::exists(At(".b.tgz.partial-12")));
}

TEST_F(LeftoversTest, WhatIsInUseStays) {
  auto first = StagingFolder::Make(folder_.path());
  ASSERT_OK(first);
  const auto second = StagingFolder::Make(folder_.path());
  ASSERT_OK(second);
  EXPECT_TRUE(fs::exists(first->path()));
  StagingFolder moved = *std::move(first);
  EXPECT_TRUE(fs::exists(moved.path()));
}

TEST_F(LeftoversTest, FoldersThatCannotBeLockedAreUsedAllTheSame) {
  Leave(".b.tgz.partial-12");
  const int other = open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_SH), 0);  // another backup
  { const FolderShare share(folder_.path(), Leftover::kPartial); }
  EXPECT_TRUE(fs::exists(At(".b.tgz.partial-12")));
  close(other);
}

TEST_F(LeftoversTest, AnUnfinishedFileGoesUnlessItIsKept) {
  Leave("gone");
  { const Unfinished file(Leftover::kPartial, At("gone")); }
  EXPECT_FALSE(fs::exists(At("gone")));
  Leave("kept");
  Unfinished(Leftover::kPartial, At("kept")).Keep();
  EXPECT_TRUE(fs::exists(At("kept")));
}

TEST_F(LeftoversTest, ASignalEndsTheProcessAndRemovesWhatIsUnfinished) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::signal(signal, SIG_DFL);
      const CleanEnd clean_end;
      const auto staging = StagingFolder::Make(folder_.path());
      Leave("b");
      const Unfinished file(Leftover::kPartial, At("b"));
      Leave(fs::path(staging->path()).filename().string() + "/store.db");
      kill(getpid(), signal);
      while (true) pause();
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_TRUE(fs::is_empty(folder_.path()));
  }
}

// A restore whose files vanished would put an incomplete state into its place.
TEST_F(LeftoversTest, ASignalLeavesWhatIsBeingReadAndTheDestructorRemovesIt) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGTERM, SIG_DFL);
    const CleanEnd clean_end;
    auto staging = StagingFolder::Make(folder_.path());
    Leave(fs::path(staging->path()).filename().string() + "/store.db");
    staging->KeepAtSignal();
    kill(getpid(), SIGTERM);
    while (true) pause();
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  ASSERT_FALSE(fs::is_empty(folder_.path()));
  EXPECT_TRUE(fs::exists(fs::directory_iterator(folder_.path())->path() / "store.db"));
  {
    auto staging = StagingFolder::Make(folder_.path());
    ASSERT_OK(staging);
    staging->KeepAtSignal();
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(LeftoversTest, ABackupNeedsRoomForTwoCopiesOfTheStore) {
  constexpr uint64_t kMib = uint64_t{1} << 20;
  EXPECT_OK(CheckRoom("/var/lib", 456 * kMib, 100 * kMib));
  EXPECT_THAT(CheckRoom("/var/lib", 456 * kMib - 1, 100 * kMib),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
}

}  // namespace
}  // namespace muster::controller
