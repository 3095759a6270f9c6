// Probes of file systems and of mounts from servers.
#include <unistd.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/health/probes/mounted.h"
#include "agent/health/probes/probe.h"
#include "common/health/limits.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/unit/agent/health/health_probes.h"
#include "tests/unit/agent/health/health_tree.h"

namespace muster::agent::health {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(Mounted, IsReadFromMountInfo) {
  const std::vector<Mounted> all = ParseMountInfo(
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
      "30 22 8:2 / /data\\040x rw - xfs /dev/sdb1 ro\n"
      "31 22 0:50 / /home rw shared:2 master:3 - nfs4 srv:/home rw\n"
      "garbage\n32 22 0:1 / /x rw - \n33 22 0:1 / /dev/shm rw - tmpfs tmpfs rw\n"
      "34 22 0:2 / /run/user/0 rw - tmpfs tmpfs rw\n35 22 8:3 / /cd ro - ext4 /dev/sdc ro\n");
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[1].path, "/data x");
  EXPECT_EQ(all[1].type, "xfs");
  EXPECT_EQ(all[1].source, "/dev/sdb1");
  EXPECT_EQ(all[1].device, "8:2");
  EXPECT_FALSE(all[1].is_read_only);
  EXPECT_TRUE(all[1].is_disk_read_only);
  std::vector<bool> local, remote;
  for (const Mounted& mounted : all) {
    local.push_back(IsLocal(mounted));
    remote.push_back(IsRemote(mounted));
  }
  EXPECT_THAT(local, ElementsAre(true, true, false, true, false, false));
  EXPECT_THAT(remote, ElementsAre(false, false, true, false, false, false));
}

TEST(Mounted, CephByFuseIsOnAServer) {
  const std::vector<Mounted> all = ParseMountInfo(
      "36 22 0:53 / /ceph rw,nosuid,nodev,relatime - fuse.ceph-fuse ceph-fuse rw,user_id=0\n");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(IsRemote(all[0]));
}

TEST(Mounted, RoomIsJudgedAsDfShowsIt) {
  const muster::health::Limits limits;
  const auto judge = [&limits](const Room& room) {
    Findings findings;
    JudgeRoom("/x", room, limits, findings);
    return HealthTree::Names(findings);
  };
  // A twentieth is root's.
  EXPECT_THAT(judge({.blocks = 100, .free_blocks = 10, .blocks_for_users = 5}), IsEmpty());
  EXPECT_THAT(judge({.blocks = 100, .free_blocks = 9, .blocks_for_users = 4}),
              ElementsAre("disk_full /x"));
  EXPECT_THAT(judge({.blocks = 100,
                     .free_blocks = 99,
                     .blocks_for_users = 99,
                     .inodes = 1000,
                     .free_inodes = 10}),
              ElementsAre("inodes_full /x"));
  EXPECT_THAT(judge({}), IsEmpty());
}

TEST_F(HealthProbes, FileSystemThatTheKernelMadeReadOnly) {
  Write("/data/x", "");
  Write("/proc/self/mountinfo",
        "30 22 8:2 / /data rw - xfs /dev/sdb1 ro\n31 22 8:2 / /again rw - xfs /dev/sdb1 ro\n"
        "32 22 8:3 / /fine ro - ext4 /dev/sdc1 ro\n"
        "33 22 8:4 / /data/stopped rw - ext4 /dev/sdd1 rw,errors=remount-ro,emergency_ro\n"
        "34 22 8:5 / /data/gone rw - ext4 /dev/sde1 rw,shutdown\n"
        "35 22 8:6 / /data/well rw - ext4 /dev/sdf1 rw,errors=remount-ro\n");
  std::vector<std::string> refused;
  limits = muster::health::Limits::Parse({{"disk_full.percent", "100"}}, refused);
  const auto probe = MakeFileSystemProbe(context());
  EXPECT_THAT(Look(*probe), ElementsAre("disk_readonly /data", "disk_readonly /data/stopped",
                                        "disk_readonly /data/gone"));
}

TEST_F(HealthProbes, WithoutMountInfoNothingIsKnown) {
  EXPECT_FALSE(MakeFileSystemProbe(context())->Look(limits).ok());
  EXPECT_FALSE(MakeMountProbe(context())->Look(limits).ok());
}

TEST_F(HealthProbes, MountsThatHangOrFail) {
  Write("/proc/self/mountinfo",
        "31 22 0:50 / /home rw - nfs4 srv:/home rw\n32 22 0:51 / /data rw - beegfs b rw\n"
        "33 22 0:52 / /stale rw - nfs srv:/s rw\n34 22 8:1 / / rw - ext4 /dev/sda1 rw\n");
  const std::string stat = "stat --file-system --format=%b -- ";
  processes.On(stat + "/home", {.exit_code = 0});
  processes.On(stat + "/data", {.signal = 9, .timed_out = true});
  processes.On(stat + "/stale",
               FakeProcessRunner::Prints("stat: cannot read '/stale': Stale file handle\n", 1));
  const auto probe = MakeMountProbe(context());
  EXPECT_THAT(Look(*probe), UnorderedElementsAre("mount_hung /data", "unknown mount_hung /stale"));
  EXPECT_THAT(Look(*probe), UnorderedElementsAre("mount_hung /data", "mount_hung /stale"));
  EXPECT_THAT(Look(*probe), UnorderedElementsAre("mount_hung /data", "mount_hung /stale"));
  processes.On(stat + "/stale", {.exit_code = 0});
  EXPECT_THAT(Look(*probe), ElementsAre("mount_hung /data"));
  EXPECT_EQ(processes.specs()[0].timeout, absl::Seconds(20));
  EXPECT_LT(processes.specs()[0].unkillable_after, absl::Seconds(30));
}

TEST_F(HealthProbes, TheSeventeenthMountIsWatchedToo) {
  const auto mount = [](int device, const std::string& path, const std::string& source) {
    return absl::StrCat("31 22 0:", device, " / ", path, " rw - nfs4 ", source, " rw\n");
  };
  const std::string stat = "stat --file-system --format=%b -- ";
  processes.On("stat", {.exit_code = 0});
  processes.On(stat + "/last", {.signal = 9, .timed_out = true});
  const std::string last = mount(99, "/last", "far:/last");

  std::string homes;
  for (int i = 10; i < 30; ++i)
    homes += mount(50, absl::StrCat("/home/", i), absl::StrCat("srv:/home/", i));
  Write("/proc/self/mountinfo", homes + last);
  const auto probe = MakeMountProbe(context());
  EXPECT_THAT(Look(*probe), ElementsAre("mount_hung /last"));
  EXPECT_EQ(processes.commands().size(), 2u) << "one of each file system";

  // The first of a file system is hidden by another mount: the next answers for it.
  processes.On(
      stat + "/home/10",
      FakeProcessRunner::Prints("stat: cannot read '/home/10': No such file or directory\n", 1));
  processes.ClearLog();
  EXPECT_THAT(Look(*probe), ElementsAre("mount_hung /last"));
  EXPECT_THAT(processes.commands(),
              ElementsAre(stat + "/last", stat + "/home/10", stat + "/home/11"))
      << "what was bad first";

  homes.clear();
  for (int i = 10; i < 30; ++i)
    homes += mount(i, absl::StrCat("/home/", i), absl::StrCat("srv:/home/", i));
  Write("/proc/self/mountinfo", homes + last);
  processes.On(stat + "/home/10", {.exit_code = 0});
  processes.ClearLog();
  EXPECT_THAT(Look(*probe), ElementsAre("mount_hung /last"));
  EXPECT_EQ(processes.commands().size(), 2u) << "one of each server";

  std::string servers;
  for (int i = 10; i < 27; ++i)
    servers += mount(i, absl::StrCat("/s/", i), absl::StrCat("srv", i, ":/s"));
  Write("/proc/self/mountinfo", servers + last);
  const auto found = probe->Look(limits);
  EXPECT_THAT(Names(found), ElementsAre("mount_hung /last", "unknown mount_hung others"));
  EXPECT_THAT(found->troubles[1].evidence, HasSubstr("2 further mounts are not watched"));
}

TEST_F(HealthProbes, AMountThatWasBadIsAskedAgainHoweverManyThereAre) {
  const auto homes = [](int count) {
    std::string mounts;
    for (int i = 10; i < 10 + count; ++i)
      absl::StrAppend(&mounts, "31 22 0:", i, " / /home/", i, " rw - nfs4 srv:/home/", i, " rw\n");
    return mounts;
  };
  processes.On("stat", {.exit_code = 0});
  processes.On("stat --file-system --format=%b -- /home/12", {.signal = 9, .timed_out = true});
  const auto probe = MakeMountProbe(context());
  Write("/proc/self/mountinfo", homes(16));
  EXPECT_THAT(Look(*probe), ElementsAre("mount_hung /home/12"));
  Write("/proc/self/mountinfo", homes(17));
  EXPECT_THAT(Look(*probe), ElementsAre("mount_hung /home/12"));

  // The agent was restarted meanwhile.
  const auto next = MakeMountProbe(context());
  next->Restore("mount_hung", "/home/12");
  EXPECT_THAT(Look(*next), ElementsAre("mount_hung /home/12"));

  // An error that says nothing about the server does not end it either.
  const std::string stat = "stat --file-system --format=%b -- /home/12";
  processes.On(stat, FakeProcessRunner::Prints("stat: cannot read '/home/12': Out of memory\n", 1));
  EXPECT_THAT(Look(*next), ElementsAre("unknown mount_hung /home/12"));
  processes.On(stat, {.signal = 9, .timed_out = true});
  EXPECT_THAT(Look(*next), ElementsAre("mount_hung /home/12"));
  processes.On(stat, {.exit_code = 0});
  EXPECT_THAT(Look(*next), IsEmpty());
  processes.ClearLog();
  EXPECT_THAT(Look(*next), IsEmpty());
  EXPECT_EQ(processes.commands().size(), 1u) << "another of its server answers again";
}

TEST_F(HealthProbes, AMountThatWasBadAndFindsNoTurnIsUnknown) {
  const auto probe = MakeMountProbe(context());
  std::string mounts;
  for (int i = 10; i < 27; ++i) {
    const std::string path = absl::StrCat("/s/", i);
    absl::StrAppend(&mounts, "31 22 0:", i, " / ", path, " rw - nfs4 srv", i, ":/s rw\n");
    probe->Restore("mount_hung", path);
  }
  Write("/proc/self/mountinfo", mounts);
  processes.On("stat", {.signal = 9, .timed_out = true});
  const std::vector<std::string> found = Look(*probe);
  EXPECT_EQ(found.size(), 18u);
  EXPECT_THAT(found, Contains("mount_hung /s/25"));
  EXPECT_THAT(found, Contains("unknown mount_hung /s/26"));
  EXPECT_THAT(found, Contains("unknown mount_hung others"));
}

TEST_F(HealthProbes, MountsThatAreNobodysFault) {
  const std::string hidden = "31 22 0:50 / /hidden rw - nfs4 srv:/home rw\n";
  const std::string locked = "32 22 0:51 / /locked rw - nfs4 srv:/krb5 rw\n";
  Write("/proc/self/mountinfo", hidden + locked + "33 22 0:52 / /going rw - nfs4 srv:/going rw\n");
  const std::string stat = "stat --file-system --format=%b -- ";
  processes.On(
      stat + "/hidden",
      FakeProcessRunner::Prints("stat: cannot read '/hidden': No such file or directory\n", 1));
  processes.On(stat + "/locked",
               FakeProcessRunner::Prints("stat: cannot read '/locked': Permission denied\n", 1));
  processes.On(stat + "/going", [&](const sys::ProcessSpec&) {
    Write("/proc/self/mountinfo", hidden + locked);
    return FakeProcessRunner::Prints("stat: cannot read '/going': Input/output error\n", 1);
  });
  const auto probe = MakeMountProbe(context());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Look(*probe), ElementsAre("unknown mount_hung /locked"));
}

TEST_F(HealthProbes, AChildThatHangsInTheKernelIsNotStartedAgain) {
  Write("/proc/self/mountinfo", "31 22 0:50 / /home rw - nfs4 srv:/home rw\n");
  processes.On("stat", [](const sys::ProcessSpec& spec) {
    spec.on_started(::getpid());  // a process that is there
    return sys::ProcessResult{.signal = 9, .timed_out = true, .unkillable = true};
  });
  const auto probe = MakeMountProbe(context());
  for (int i = 0; i < 5; ++i) EXPECT_THAT(Look(*probe), ElementsAre("mount_hung /home"));
  EXPECT_EQ(processes.commands().size(), 1u);
}

}  // namespace
}  // namespace muster::agent::health
