#include "agent/sys/process_status.h"

#include <unistd.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/sys/file_system.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ProcessStatusTest, HasWordsBehindAKey) {
  const std::string status = "Name:\tUid: 7\nUid:\t0\t1001\t0\t1001\nSeccomp:\n";
  EXPECT_THAT(StatusWords(status, "Uid:"), ElementsAre("0", "1001", "0", "1001"));
  EXPECT_EQ(FirstStatusWord(status, "Uid:"), "0");
  EXPECT_THAT(StatusWords(status, "Seccomp:"), IsEmpty());
  EXPECT_EQ(FirstStatusWord(status, "Gid:"), "");
}

TEST(ProcessStatusTest, KnowsWhatIsMountedAsTheRoot) {
  EXPECT_EQ(
      RootMount("1 1 0:2 / / rw - rootfs rootfs rw\n27 1 254:0 / / rw,relatime - ext4 /dev/vda "
                "rw\n28 27 0:21 / /proc rw - proc proc rw\n"),
      "254:0 /");
  EXPECT_EQ(RootMount("90 70 254:0 /var/lib/machines/el9 / rw - ext4 /dev/vda rw\n"),
            "254:0 /var/lib/machines/el9");
  EXPECT_EQ(RootMount("28 27 0:21 / /proc rw - proc proc rw\n"), "");
  EXPECT_EQ(RootMount("27 1 254:0\n"), "");
}

class ProcessesOfAUser : public ::testing::Test {
 protected:
  static constexpr char kRoot[] = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n";

  ProcessesOfAUser() { files_.AddFile("/proc/self/mountinfo", kRoot); }
  void Add(int pid, const std::string& name, const std::string& uids,
           const std::string& mounts = kRoot) {
    const std::string folder = absl::StrCat("/proc/", pid);
    files_.AddFile(folder + "/status", absl::StrCat("Name:\t", name, "\nUid:\t", uids, "\n"));
    files_.AddFile(folder + "/mountinfo", mounts);
  }

  muster::testing::FakeFileSystem files_;
};

TEST_F(ProcessesOfAUser, HaveOneOfItsUids) {
  Add(1, "systemd", "0\t0\t0\t0");
  Add(40, "munged", "113\t113\t113\t113");
  Add(41, "helper", "0\t113\t0\t113");
  Add(42, "other", "1130\t1130\t1130\t1130");
  files_.AddFile("/proc/self/status", "Name:\tself\nUid:\t113\n");
  files_.AddFile("/proc/44/status", "Name:\tzombie\nUid:\t113\n");
  files_.AddDirectory("/proc/50");  // has ended
  const auto found = ProcessesOfUser(113, files_);
  ASSERT_OK(found);
  EXPECT_THAT(*found, ElementsAre("munged (pid 40)", "helper (pid 41)"));
}

// Only another root has other accounts: a sandbox has its own mounts, and often its own process
// numbers, but the machine's root.
TEST_F(ProcessesOfAUser, HaveTheRootOfThisOne) {
  Add(43, "postgres", "113", "612 590 0:52 / / rw - overlay overlay rw,lowerdir=/var/lib\n");
  Add(44, "machine", "113", "90 70 254:0 /var/lib/machines/el9 / rw - ext4 /dev/vda rw\n");
  Add(45, "chroot", "113", "28 27 0:21 / /proc rw - proc proc rw\n");
  Add(46, "sandboxed", "113", "707 680 254:0 / / ro - ext4 /dev/vda rw\n");
  files_.AddFile("/proc/46/status", "Name:\tsandboxed\nUid:\t113\nNSpid:\t46\t2\n");
  const auto found = ProcessesOfUser(113, files_);
  ASSERT_OK(found);
  EXPECT_THAT(*found, ElementsAre("sandboxed (pid 46)"));
}

TEST(ProcessStatusTest, FindsThisProcess) {
  sys::RealFileSystem files;
  const auto found = ProcessesOfUser(::getuid(), files);
  ASSERT_OK(found);
  EXPECT_THAT(*found, Contains(HasSubstr(absl::StrCat("(pid ", ::getpid(), ")"))));
}

}  // namespace
}  // namespace muster::agent
