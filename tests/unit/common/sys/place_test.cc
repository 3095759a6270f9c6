#include "common/sys/place.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include <gmock/gmock.h>

#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::sys {
namespace {

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uid_t kUser = 64999;

// In a folder of root's:
//   real/file      real/up -> ..       way -> real     far -> <absolute>/real
//   users/         kUser's:            link -> ../real (root's own)    sub/
//   open/          anybody's, sticky:  root -> ../real  user -> ../real (kUser's)
//   team/          a group's:          link -> ../real
class PlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, whose rights are at stake";
    for (const char* name : {"real", "users", "users/sub", "open", "team"})
      ASSERT_EQ(::mkdir(Path(name).c_str(), 0755), 0);
    const UniqueFd file(::open(Path("real/file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_TRUE(file.valid());
    Link("..", "real/up");
    Link("real", "way");
    Link(Path("real"), "far");
    Link("../real", "users/link");
    Link("../real", "open/root");
    Link("../real", "open/user");
    Link("../real", "team/link");
    Link("../../real", "users/sub/link");
    ASSERT_EQ(::lchown(Path("open/user").c_str(), kUser, kUser), 0);
    ASSERT_EQ(::chown(Path("users").c_str(), kUser, kUser), 0);
    ASSERT_EQ(::chmod(Path("open").c_str(), 01777), 0);
    ASSERT_EQ(::chown(Path("team").c_str(), 0, 50), 0);
    ASSERT_EQ(::chmod(Path("team").c_str(), 0775), 0);
  }
  void Link(const std::string& target, const std::string& name) {
    ASSERT_EQ(::symlink(target.c_str(), Path(name).c_str()), 0);
  }
  std::string Path(const std::string& name) { return dir_.path() + "/" + name; }
  bool LeadsToFile(const std::string& folder) {
    struct stat info = {};
    const auto place = Place::Reach(Path(folder + "/file"), "reading");
    return place.ok() && place->folder.Stat(place->name, &info);
  }
  void ExpectRefused(const std::string& folder, const std::string& link, const std::string& why) {
    EXPECT_THAT(Place::Reach(Path(folder + "/file"), "reading"),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr("reading " + Path(folder + "/file")),
                               HasSubstr(Path(link) + " is a symbolic link"), HasSubstr(why))));
  }
  void ExpectTheRules() {
    for (const char* folder :
         {"real", "way", "far", "real/up/real", "way/up/way", "./real/../way", "open/root"})
      EXPECT_TRUE(LeadsToFile(folder)) << folder;
    ExpectRefused("users/link", "users/link", "they control " + Path("users"));
    ExpectRefused("way/up/users/link", "users/link", "they control ");
    ExpectRefused("users/sub/link", "users/sub/link", "they control " + Path("users"));
    ExpectRefused("open/user", "open/user", "uid 64999 made");
    ExpectRefused("team/link", "team/link", "they control " + Path("team"));
    EXPECT_THAT(Place::Reach(Path("no/file"), "reading"),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr(Path("no/file"))));
    EXPECT_THAT(Place::Reach(Path("way/file/below"), "reading"),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("Not a directory")));
  }

  muster::testing::TempDir dir_;
};

TEST_F(PlaceTest, FollowsLinksOfRootAloneAndNamesTheOthers) { ExpectTheRules(); }

// From here on the process and its children have no openat2.
void TakeOpenat2Away(int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {.len = std::size(filter), .filter = filter};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
  ASSERT_EQ(::syscall(SYS_openat2, AT_FDCWD, "/", nullptr, 0), -1);
  ASSERT_EQ(errno, error);
}

TEST_F(PlaceTest, WalksByTheSameRulesWithoutOpenat2) {
  for (const int error : {ENOSYS, EPERM}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      TakeOpenat2Away(error);
      ExpectTheRules();
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << error;
  }
}

TEST_F(PlaceTest, GoesRoundInCirclesForAWhile) {
  Link("round", "round");
  EXPECT_FALSE(Place::Reach(Path("round/file"), "reading").ok());
  EXPECT_FALSE(OpenFile(Path("round"), O_RDONLY, LastLink::kFollow, "reading").ok());
}

// Somebody gave another name to a link of root's, in a folder where anybody may.
TEST_F(PlaceTest, FollowsNoLinkOfSeveralNamesWhereAnybodyMayMakeOne) {
  ASSERT_EQ(::linkat(AT_FDCWD, Path("way").c_str(), AT_FDCWD, Path("open/planted").c_str(), 0), 0);
  EXPECT_THAT(Place::Reach(Path("open/planted/file"), "reading"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("open/planted")));
  EXPECT_TRUE(LeadsToFile("way"));
}

TEST_F(PlaceTest, FollowsTheLastPartByTheSameRules) {
  Link("real/file", "last");
  Link("../real/file", "users/last");
  EXPECT_OK(OpenFile(Path("last"), O_RDONLY, LastLink::kFollow, "reading"));
  EXPECT_THAT(OpenFile(Path("users/last"), O_RDONLY, LastLink::kFollow, "reading"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(Path("users/last"))));
  EXPECT_FALSE(OpenFile(Path("last"), O_RDONLY, LastLink::kRefuse, "reading").ok());
}

TEST_F(PlaceTest, GroupOfRootIsRoot) {
  ASSERT_EQ(::chown(Path("team").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(Path("team").c_str(), 0775), 0);
  EXPECT_TRUE(LeadsToFile("team/link"));
}

TEST_F(PlaceTest, TellsWhoseFoldersAreOnTheWay) {
  const auto foreign = [this](const std::string& name) {
    return ForeignFolder(Path(name)).value();
  };
  EXPECT_EQ(foreign("real/file"), "");
  EXPECT_EQ(foreign("real/no/file"), "");
  EXPECT_EQ(foreign("way/file"), "");
  EXPECT_EQ(foreign("users"), "");
  EXPECT_EQ(foreign("users/x"), Path("users"));
  EXPECT_EQ(foreign("users/sub/x"), Path("users"));
  EXPECT_EQ(foreign("users/no/x"), Path("users"));
  EXPECT_EQ(foreign("team/x"), Path("team"));
  EXPECT_EQ(foreign("open/x"), "");
  EXPECT_EQ(ForeignFolder("/etc/hosts").value(), "");
  EXPECT_THAT(ForeignFolder(Path("users/link/x")),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("users/link")));
}

// The kernel decides what a process without root's rights may do.
TEST_F(PlaceTest, AnotherProcessFollowsLinksAsEveryProgram) {
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool dropped = ::setgid(kUser + 1) == 0 && ::setuid(kUser + 1) == 0;
    const bool follows =
        LeadsToFile("users/link") && LeadsToFile("team/link") && LeadsToFile("open/root") &&
        OpenFile(Path("users/link/file"), O_RDONLY, LastLink::kFollow, "reading").ok();
    ::_exit(dropped && follows ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace muster::sys
