// Root's work in a folder that a user owns.
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/sys/act_as.h"
#include "common/sys/atomic_write.h"
#include "common/sys/file_system.h"
#include "common/sys/large_file.h"
#include "common/sys/place.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::sys {
namespace {

using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uid_t kFolderUser = 64999;
constexpr gid_t kGroup = 64998;

class UsersFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, whose rights are at stake";
    ASSERT_OK(fs_.WriteAtomically(Root("secret"), "root:x", {.mode = 0600}));
    ASSERT_OK(fs_.MakeDirectory(home_, 0755));
    ASSERT_OK(fs_.SetAttributes(home_, {.uid = kFolderUser, .gid = kGroup}));
  }
  std::string Root(const std::string& name) { return dir_.path() + "/" + name; }
  std::string Home(const std::string& name) { return home_ + "/" + name; }
  FileStat Stat(const std::string& path) { return fs_.Stat(path).value().value_or(FileStat()); }
  // A file of the user's own.
  void UserWrites(const std::string& name, const std::string& content, mode_t mode = 0644) {
    ASSERT_OK(fs_.WriteAtomically(Home(name), content,
                                  {.mode = mode, .uid = kFolderUser, .gid = kGroup}));
  }

  muster::testing::TempDir dir_;
  const std::string home_ = dir_.path() + "/home";
  RealFileSystem fs_;
};

TEST_F(UsersFolderTest, ActsAsAnotherInOneThreadAlone) {
  std::vector<gid_t> groups(64);
  const int before = ::getgroups(64, groups.data());
  {
    absl::Notification acting;
    bool other_is_root = false;
    std::thread other([&] {
      acting.WaitForNotification();
      other_is_root = ::setfsuid(-1) == 0 && ::getgroups(0, nullptr) == before &&
                      UniqueFd(::open(Root("secret").c_str(), O_RDONLY | O_CLOEXEC)).valid();
    });
    const ActAs user(kFolderUser, kGroup);
    acting.Notify();
    other.join();
    EXPECT_TRUE(other_is_root);
    ASSERT_TRUE(user.ok());
    EXPECT_LT(::open(Root("secret").c_str(), O_RDONLY | O_CLOEXEC), 0);
    EXPECT_EQ(::getgroups(0, nullptr), 0);
    EXPECT_EQ(::geteuid(), 0u);
  }
  EXPECT_EQ(::setfsuid(-1), 0);
  EXPECT_EQ(::setfsgid(-1), static_cast<int>(::getegid()));
  EXPECT_EQ(::getgroups(64, groups.data()), before);
  EXPECT_TRUE(UniqueFd(::open(Root("secret").c_str(), O_RDONLY | O_CLOEXEC)).valid());
}

TEST_F(UsersFolderTest, MakesWhatIsTheUsersAsTheUser) {
  ASSERT_OK(fs_.MakeDirectory(Home("a/b"), 0750));
  EXPECT_EQ(Stat(Home("a")).uid, kFolderUser);
  EXPECT_EQ(Stat(Home("a")).gid, kGroup);
  EXPECT_EQ(Stat(Home("a")).mode, 0755u);
  EXPECT_EQ(Stat(Home("a/b")).mode, 0750u);
  UserWrites("a/b/file", "x", 0640);
  EXPECT_EQ(Stat(Home("a/b/file")).uid, kFolderUser);
  EXPECT_EQ(Stat(Home("a/b/file")).gid, kGroup);
  ASSERT_OK(fs_.MakeSymlink("file", Home("a/b/link")));
  EXPECT_EQ(Stat(Home("a/b/link")).uid, kFolderUser);
  EXPECT_EQ(fs_.Read(Home("a/b/file")).value(), "x");
  EXPECT_THAT(fs_.List(Home("a/b")).value(), ElementsAre("file", "link"));
  ASSERT_OK(fs_.Remove(Home("a"), /*recursive=*/true));
  EXPECT_THAT(fs_.List(home_).value(), IsEmpty());
}

TEST_F(UsersFolderTest, WritesWhatIsToBeRootsOrAnothers) {
  ASSERT_OK(fs_.WriteAtomically(Home("policy"), "root's", {.mode = 0600}));
  EXPECT_EQ(Stat(Home("policy")).uid, 0u);
  EXPECT_EQ(fs_.View(Home("policy")).value()->content, "root's");
  ASSERT_OK(fs_.WriteAtomically(Home("other"), "x", {.mode = 04755, .uid = 12, .gid = 34}));
  EXPECT_EQ(Stat(Home("other")).uid, 12u);
  EXPECT_EQ(Stat(Home("other")).mode, 04755u);
  ASSERT_OK(fs_.MakeDirectory(Home("shared"), 0755));
  ASSERT_OK(fs_.SetAttributes(Home("shared"), {.mode = 02770, .uid = kFolderUser, .gid = 34}));
  EXPECT_EQ(Stat(Home("shared")).mode, 02770u);
  EXPECT_EQ(Stat(Home("shared")).gid, 34u);
}

// Folders that their owner may not write in, such as services have.
TEST_F(UsersFolderTest, WritesWhereTheOwnerMayNot) {
  ASSERT_OK(fs_.SetAttributes(home_, {.mode = 0500}));
  ASSERT_OK(fs_.MakeDirectory(Home("d"), 0700));
  UserWrites("file", "x");
  EXPECT_EQ(Stat(Home("file")).uid, kFolderUser);
  ASSERT_OK(fs_.Remove(Home("file"), false));
  EXPECT_THAT(fs_.List(home_).value(), ElementsAre("d"));
}

// Where the kernel lets users link to files of others (fs.protected_hardlinks = 0).
TEST_F(UsersFolderTest, ReadsAndGivesAwayNoFileWithNamesElsewhere) {
  ASSERT_EQ(::link(Root("secret").c_str(), Home("planted").c_str()), 0);
  EXPECT_FALSE(fs_.Read(Home("planted")).ok());
  EXPECT_FALSE(fs_.View(Home("planted")).ok());
  EXPECT_FALSE(Sha256OfFile(Home("planted")).ok());
  EXPECT_FALSE(fs_.SetAttributes(Home("planted"), {.mode = 0666, .uid = kFolderUser}).ok());
  ASSERT_OK(fs_.SetAttributes(Root("secret"), {.mode = 0644}));
  // The user may read it now, but not own it.
  EXPECT_EQ(fs_.Read(Home("planted")).value(), "root:x");
  EXPECT_FALSE(fs_.SetAttributes(Home("planted"), {.uid = kFolderUser}).ok());
  EXPECT_FALSE(fs_.SetAttributes(Home("planted"), {.mode = 0666}).ok());
  ASSERT_OK(fs_.WriteAtomically(Home("planted"), "new", {.uid = kFolderUser, .gid = kGroup}));
  EXPECT_EQ(fs_.Read(Root("secret")).value(), "root:x");
  EXPECT_EQ(Stat(Root("secret")).uid, 0u);
  EXPECT_EQ(Stat(Root("secret")).mode, 0644u);
}

TEST_F(UsersFolderTest, MakesNoFileOfAUserOneThatOthersTrust) {
  UserWrites("tool", "#!/bin/sh\n", 0755);
  EXPECT_THAT(fs_.SetAttributes(Home("tool"), {.mode = 04755, .uid = 0}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("uid 64999")));
  EXPECT_THAT(fs_.SetAttributes(Home("tool"), {.mode = 02755, .gid = 0}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("uid 64999")));
  EXPECT_EQ(Stat(Home("tool")).uid, kFolderUser);
  ASSERT_OK(fs_.SetAttributes(Home("tool"), {.mode = 0700}));
  EXPECT_EQ(Stat(Home("tool")).mode, 0700u);
}

TEST_F(UsersFolderTest, KeepsNoSetIdBitsOfWhatAUserPutThere) {
  ASSERT_OK(fs_.WriteAtomically(Home("su"), "x", {.mode = 04755}));
  ASSERT_OK(fs_.WriteAtomically(Home("su"), "new", {}));
  EXPECT_EQ(Stat(Home("su")).mode, 0755u);
}

TEST_F(UsersFolderTest, HasACopyVerifiedThatNobodyCanSwap) {
  std::string verified;
  const WriteOptions options = {
      .mode = 0640, .uid = kFolderUser, .gid = kGroup, .verify = [&](const std::string& path) {
        verified = path;
        EXPECT_FALSE(absl::StartsWith(path, dir_.path())) << path;
        EXPECT_TRUE(absl::EndsWith(path, "/profile")) << path;
        EXPECT_EQ(ForeignFolder(path).value(), "");
        EXPECT_EQ(Stat(path.substr(0, path.rfind('/'))).mode, 0700u);
        EXPECT_EQ(Stat(path).uid, kFolderUser);
        EXPECT_EQ(Stat(path).mode, 0640u);
        EXPECT_EQ(fs_.Read(path).value(), "content");
        return absl::OkStatus();
      }};
  ASSERT_OK(fs_.WriteAtomically(Home("profile"), "content", options));
  EXPECT_EQ(fs_.Read(Home("profile")).value(), "content");
  EXPECT_FALSE(fs_.Stat(verified.substr(0, verified.rfind('/'))).value().has_value());
}

TEST_F(UsersFolderTest, RemovesNoEndlessTree) {
  UniqueFd at(::open(home_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 450; ++depth) {
    ASSERT_EQ(::mkdirat(at.get(), "d", 0755), 0);
    at = UniqueFd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  EXPECT_THAT(fs_.Remove(Home("d"), true),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nested")));
}

TEST_F(UsersFolderTest, SaysWhichLinkRootDoesNotFollow) {
  ASSERT_OK(fs_.MakeSymlink(dir_.path(), Home("link")));
  const std::string path = Home("link/secret");
  const auto refused =
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(Home("link") + " is"));
  EXPECT_THAT(fs_.Read(path), refused);
  EXPECT_THAT(fs_.Stat(path), refused);
  EXPECT_THAT(fs_.View(path), refused);
  EXPECT_THAT(fs_.WriteAtomically(path, "x", {}), refused);
  EXPECT_THAT(fs_.MakeDirectory(Home("link/new"), 0755), refused);
  EXPECT_THAT(fs_.Remove(path, false), refused);
  EXPECT_THAT(fs_.ReadLink(path), refused);
  EXPECT_THAT(fs_.MakeSymlink("x", path), refused);
  EXPECT_THAT(fs_.SetAttributes(path, {.mode = 0644}), refused);
  EXPECT_THAT(fs_.List(Home("link")), refused);
  EXPECT_THAT(Sha256OfFile(path), refused);
  EXPECT_THAT(PlaceFile(path, Root("to"), {}, true), refused);
  EXPECT_EQ(fs_.Read(Root("secret")).value(), "root:x");
}

}  // namespace
}  // namespace muster::sys
