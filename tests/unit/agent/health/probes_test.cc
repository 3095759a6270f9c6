// Probes of everything but GPUs, on copies of a kernel's files.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/health/condition_board.h"
#include "agent/health/probes/mounted.h"
#include "agent/health/probes/probe.h"
#include "common/health/catalogue.h"
#include "common/health/kernel_message.h"
#include "common/health/xid.h"
#include "common/pki/authority.h"
#include "common/pki/key.h"
#include "muster/v1/records.pb.h"
#include "tests/unit/agent/health/health_tree.h"

namespace muster::agent::health {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class HealthProbes : public ::testing::Test, protected HealthTree {
 protected:
  void WriteNic(const std::string& name, const std::string& carrier, int ups, int downs) {
    const std::string nic = "/sys/class/net/" + name;
    Write(nic + "/type", "1\n");
    Write(nic + "/flags", "0x1003\n");
    Write(nic + "/carrier", carrier + "\n");
    Write(nic + "/carrier_up_count", std::to_string(ups) + "\n");
    Write(nic + "/carrier_down_count", std::to_string(downs) + "\n");
    Write(nic + "/device/vendor", "0x15b3\n");
  }
};

// Nothing is watched by two, and everything by somebody.
TEST_F(HealthProbes, CoverTheCatalogueOnce) {
  std::multiset<std::string> watched = {"kmsg_reader", "agent_overload"};
  for (const ProbeSpec& spec : MakeProbes(context())) {
    EXPECT_GE(spec.interval, absl::Seconds(30)) << spec.name;
    for (const WatchedCondition& condition : spec.conditions) watched.insert(condition.name);
  }
  std::set<std::string> of_log;
  for (const muster::health::KernelMessage& row : muster::health::KernelMessages())
    if (!row.condition.empty()) of_log.emplace(row.condition);
  for (const muster::health::XidInfo& row : muster::health::XidTable()) {
    const absl::string_view condition = muster::health::ConditionOf(row.first, row.action);
    if (!condition.empty()) of_log.emplace(condition);
  }
  // The probe sees what the kernel shows of it, and the log says the rest.
  EXPECT_EQ(of_log.erase("disk_readonly"), 1u);
  watched.insert(of_log.begin(), of_log.end());
  std::multiset<std::string> catalogue;
  for (const muster::health::ConditionInfo& condition : muster::health::Catalogue())
    catalogue.emplace(condition.name);
  EXPECT_EQ(watched, catalogue);
}

TEST_F(HealthProbes, CertificateThatIsNotRenewed) {
  const auto probe = MakeCertificateProbe(context());
  EXPECT_THAT(probe->Look(limits)->not_watched, ElementsAre("certificate_renewal"));
  const absl::Time made = clock.Now();
  const pki::Authority ca = pki::MakeCa("ca", absl::Hours(24 * 365), made).value();
  const pki::KeyAndCsr key = pki::MakeKeyAndCsr("c001").value();
  const auto lasts = [&](absl::Duration life) {
    Write("/state/client.crt", pki::SignCsr(ca, key.csr_pem, {.common_name = "c001"},
                                            {made, made + life}, pki::Usage::kClient)
                                   .value());
  };
  lasts(absl::Hours(24 * 30));
  clock.Advance(absl::Hours(24));
  EXPECT_THAT(Look(*probe), IsEmpty());
  renewal.Set("no space left");
  EXPECT_THAT(Look(*probe), IsEmpty()) << "there is time";
  lasts(absl::Hours(25));
  EXPECT_THAT(Look(*probe), ElementsAre("certificate_renewal")) << "nearly over";
  lasts(absl::Hours(24 * 30));
  clock.Advance(absl::Hours(12));
  const auto found = probe->Look(limits);
  EXPECT_THAT(Names(found), ElementsAre("certificate_renewal"));
  EXPECT_THAT(found->troubles[0].evidence, HasSubstr("no space left"));
  renewal.Set("");
  EXPECT_THAT(Look(*probe), ElementsAre("unknown certificate_renewal")) << "nobody has tried";
}

// The nodes' certificates are old when the controller is back, and are renewed at once.
TEST_F(HealthProbes, AControllerThatWasAwayForDaysIsNoFaultOfTheNode) {
  const absl::Time made = clock.Now();
  const pki::Authority ca = pki::MakeCa("ca", absl::Hours(24 * 365), made).value();
  const pki::KeyAndCsr key = pki::MakeKeyAndCsr("c001").value();
  Write("/state/client.crt", pki::SignCsr(ca, key.csr_pem, {.common_name = "c001"},
                                          {made, made + absl::Hours(24 * 30)}, pki::Usage::kClient)
                                 .value());
  const std::vector<ProbeSpec> probes = MakeProbes(context());
  const auto spec = std::find_if(probes.begin(), probes.end(), [](const ProbeSpec& probe) {
    return probe.name == "certificate";
  });
  ConditionBoard board;
  const auto look_for = [&](absl::Duration duration) {
    for (const absl::Time end = clock.Now() + duration; clock.Now() < end;
         clock.Advance(spec->interval))
      board.Merge(spec->conditions, *spec->probe->Look(limits), 2 * spec->interval, clock.Now());
    return !board.BadFindings().empty();
  };
  EXPECT_FALSE(look_for(absl::Hours(48)));
  renewal.Set("deadline exceeded");
  EXPECT_FALSE(look_for(absl::Minutes(11))) << "the next attempt may succeed";
  EXPECT_TRUE(look_for(absl::Hours(1)));
  renewal.Set("");
  EXPECT_TRUE(look_for(absl::Hours(48))) << "it fails until one succeeds";
}

TEST_F(HealthProbes, NicThatLostItsLink) {
  WriteNic("eth0", "1", 1, 0);
  WriteNic("eth1", "0", 2, 2);  // had a link since the boot
  WriteNic("eth2", "0", 0, 0);  // never had one
  WriteNic("eth3", "0", 2, 2);
  Write("/sys/class/net/eth3/flags", "0x1002\n");  // switched off
  Write("/sys/class/net/lo/type", "772\n");
  Write("/sys/class/net/docker0/type", "1\n");
  Write("/sys/class/net/docker0/flags", "0x1003\n");
  Write("/sys/class/net/docker0/carrier", "0\n");
  Write("/sys/class/net/docker0/carrier_up_count", "5\n");
  const auto probe = MakeNicProbe(context());
  EXPECT_THAT(Look(*probe), ElementsAre("nic_down eth1"));
}

TEST_F(HealthProbes, NicWhoseAdapterFellOffTheBus) {
  const auto put = [&](const std::string& name, const std::string& adapter) {
    const std::string nic = "/sys/class/net/" + name;
    const std::string slot = "/sys/bus/pci/devices/" + adapter;
    Write(nic + "/type", "1\n");
    Write(nic + "/flags", "0x1003\n");
    Write(nic + "/carrier", "1\n");
    Write(slot + "/vendor", "0x15b3\n");
    Link(slot + "/driver", root() + "/sys/bus/pci/drivers/mlx5_core");
    Link(nic + "/device", root() + slot);
  };
  Write("/sys/bus/pci/drivers/mlx5_core/new_id", "");
  for (int i = 0; i < 4; ++i) put(absl::StrCat("eth", i), absl::StrCat("0000:3b:00.", i));
  Link("/sys/bus/pci/devices/0000:3b:00.3/physfn", root() + "/sys/bus/pci/devices/0000:3b:00.0");
  const auto probe = MakeNicProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());
  for (int i = 0; i < 4; ++i)
    std::filesystem::remove_all(absl::StrCat(root(), "/sys/class/net/eth", i));
  EXPECT_THAT(Look(*probe), IsEmpty()) << "moved or renamed: the adapters are there";
  std::filesystem::remove_all(root() + "/sys/bus/pci/devices/0000:3b:00.0");
  std::filesystem::remove(root() + "/sys/bus/pci/devices/0000:3b:00.1/driver");
  std::filesystem::remove_all(root() + "/sys/bus/pci/devices/0000:3b:00.3");
  EXPECT_THAT(Look(*probe), ElementsAre("nic_down eth0", "nic_down eth1"));
}

TEST_F(HealthProbes, InAContainerTheEndOfThePairIsTheNic) {
  Write("/run/systemd/container", "systemd-nspawn\n");
  for (const char* name : {"host0", "veth1"}) {
    const std::string nic = std::string("/sys/class/net/") + name;
    Write(nic + "/type", "1\n");
    Write(nic + "/flags", "0x1003\n");
    Write(nic + "/carrier", "0\n");
    Write(nic + "/carrier_up_count", "3\n");
    Write(nic + "/iflink", "17\n");
    Write(nic + "/ifindex", "2\n");
  }
  Write("/sys/class/net/veth1/master/x", "");
  const auto probe = MakeNicProbe(context());
  EXPECT_THAT(Look(*probe), ElementsAre("nic_down host0"));
}

TEST_F(HealthProbes, NicThatIsSlowerThanBefore) {
  WriteNic("eth0", "1", 1, 0);
  Write("/sys/class/net/eth0/speed", "25000\n");
  const auto probe = MakeNicProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());
  Write("/sys/class/net/eth0/speed", "1000\n");
  EXPECT_THAT(Look(*probe), ElementsAre("nic_slow eth0"));
  Write("/sys/class/net/eth0/speed", "-1\n");
  EXPECT_THAT(Look(*probe), IsEmpty());
}

TEST_F(HealthProbes, NicThatFlapsOrDamagesPackets) {
  WriteNic("eth0", "1", 1, 100);
  Write("/sys/class/net/eth0/statistics/rx_crc_errors", "1000000\n");
  const auto probe = MakeNicProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());  // history
  clock.Advance(absl::Minutes(10));
  WriteNic("eth0", "1", 1, 104);
  Write("/sys/class/net/eth0/statistics/rx_crc_errors", "1000600\n");
  EXPECT_THAT(Look(*probe), IsEmpty());
  clock.Advance(absl::Minutes(10));
  WriteNic("eth0", "1", 1, 105);
  Write("/sys/class/net/eth0/statistics/rx_crc_errors", "1000601\n");
  EXPECT_THAT(Look(*probe), ElementsAre("nic_flapping eth0", "nic_errors eth0"));
  clock.Advance(absl::Hours(26));
  EXPECT_THAT(Look(*probe), IsEmpty());
}

TEST_F(HealthProbes, InfinibandPorts) {
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1";
  Write(port + "/link_layer", "InfiniBand\n");
  Write(port + "/state", "4: ACTIVE\n");
  Write(port + "/counters/symbol_error", "7\n");
  Write(port + "/counters/link_error_recovery", "0\n");
  Write(port + "/counters/link_downed", "0\n");
  Write("/sys/class/infiniband/mlx5_1/ports/1/link_layer", "Ethernet\n");
  Write("/sys/class/infiniband/mlx5_2/ports/1/link_layer", "InfiniBand\n");
  Write("/sys/class/infiniband/mlx5_2/ports/1/state", "1: DOWN\n");  // never connected
  const auto probe = MakeInfinibandProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());
  clock.Advance(absl::Minutes(1));
  Write(port + "/state", "1: DOWN\n");
  Write(port + "/counters/link_downed", "1\n");
  Write(port + "/counters/symbol_error", "70\n");
  EXPECT_THAT(Look(*probe), ElementsAre("ib_port mlx5_0/1", "ib_errors mlx5_0/1"));
  // An agent that is new knows it from the counter.
  EXPECT_THAT(Look(*MakeInfinibandProbe(context())),
              ElementsAre("ib_port mlx5_0/1", "ib_errors mlx5_0/1"));
  // The adapter falls off the bus.
  std::filesystem::remove_all(root() + "/sys/class/infiniband/mlx5_0");
  EXPECT_THAT(Look(*probe), ElementsAre("ib_port mlx5_0/1"));
}

TEST_F(HealthProbes, AnInfinibandCounterAtItsMaximumIsNotWellAgain) {
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1";
  Write(port + "/link_layer", "InfiniBand\n");
  Write(port + "/state", "4: ACTIVE\n");
  Write(port + "/counters/symbol_error", "65535\n");  // since when, nobody knows
  Write(port + "/counters/link_error_recovery", "250\n");
  const auto probe = MakeInfinibandProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());
  clock.Advance(absl::Minutes(1));
  Write(port + "/counters/link_error_recovery", "254\n");
  EXPECT_THAT(Look(*probe), IsEmpty());
  Write(port + "/counters/link_error_recovery", "255\n");
  EXPECT_THAT(Look(*probe), ElementsAre("ib_errors mlx5_0/1"));
  clock.Advance(absl::Hours(100));
  EXPECT_THAT(Look(*probe), ElementsAre("ib_errors mlx5_0/1"));
  Write(port + "/counters/link_error_recovery", "0\n");  // perfquery -R
  EXPECT_THAT(Look(*probe), IsEmpty());
}

TEST_F(HealthProbes, InfinibandPortsThatMayGo) {
  const std::string made = "/sys/class/infiniband/mlx5_3";
  const std::string turned = "/sys/class/infiniband/mlx5_4";
  for (const std::string& adapter : {made, turned}) {
    Write(adapter + "/ports/1/link_layer", "InfiniBand\n");
    Write(adapter + "/ports/1/state", "4: ACTIVE\n");
  }
  Link(made + "/device/physfn", root() + turned);
  const auto probe = MakeInfinibandProbe(context());
  EXPECT_THAT(Look(*probe), IsEmpty());
  std::filesystem::remove_all(root() + made);
  Write(turned + "/ports/1/link_layer", "Ethernet\n");
  EXPECT_THAT(Look(*probe), IsEmpty());
}

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

TEST_F(HealthProbes, DisksThatSayThatTheyFail) {
  for (const char* disk : {"sda", "sdb", "nvme0n1", "loop0", "dm-0"})
    Write(std::string("/sys/block/") + disk + "/size", "1000\n");
  Write("/sys/block/sdc/size", "0\n");
  const auto probe = MakeDiskProbe(context());
  const auto without = probe->Look(limits);
  ASSERT_TRUE(without.ok());
  EXPECT_THAT(without->not_watched, ElementsAre("disk_health"));
  processes.On("smartctl", {.exit_code = 0});
  // 64: its log has errors of the past; 8: it is failing.
  processes.On("smartctl --nocheck=standby --health /dev/sdb", {.exit_code = 64 + 8});
  processes.On("smartctl --nocheck=standby --health /dev/sda", {.exit_code = 2});
  processes.ClearLog();
  const auto found = probe->Look(limits);
  EXPECT_THAT(Names(found), ElementsAre("disk_health sdb"));
  EXPECT_THAT(found->well, ElementsAre(Pair("disk_health", "nvme0n1")));
  EXPECT_EQ(processes.commands().size(), 3u);
}

TEST_F(HealthProbes, AFailingDiskThatDiesIsNotWellAgain) {
  const std::vector<ProbeSpec> probes = MakeProbes(context());
  const auto disks = std::find_if(probes.begin(), probes.end(),
                                  [](const ProbeSpec& spec) { return spec.name == "disks"; });
  ASSERT_NE(disks, probes.end());
  ConditionBoard board;
  const auto rows = [&] {
    const auto findings = disks->probe->Look(limits);
    EXPECT_TRUE(findings.ok());
    clock.Advance(disks->interval);
    board.Merge(disks->conditions, *findings, 2 * disks->interval, clock.Now());
    return board.Rows().size();
  };
  Write("/sys/block/sdb/size", "1000\n");
  processes.On("smartctl", {.exit_code = 2});
  EXPECT_EQ(rows(), 0u) << "it does not answer, and nobody knows why";
  processes.On("smartctl", {.exit_code = 8});
  EXPECT_EQ(rows(), 1u);
  for (const int cannot : {1, 2, 4}) {
    processes.On("smartctl", {.exit_code = cannot});
    EXPECT_EQ(rows(), 1u) << cannot;
  }
  std::filesystem::remove_all(root() + "/sys/block/sdb");
  EXPECT_EQ(rows(), 1u);
  Write("/sys/block/sdb/size", "1000\n");
  processes.On("smartctl", {.exit_code = 64});
  EXPECT_EQ(rows(), 0u) << "another one is in its place";
}

// Answers of FreeIPMI 1.6.10 to a simulated BMC.
TEST_F(HealthProbes, ABmcThatComplains) {
  const auto probe = MakeBmcProbe(context());
  EXPECT_THAT(probe->Look(limits)->not_watched, ElementsAre("bmc_sensor", "bmc_log"));
  processes.On("ipmi-sel", {.exit_code = 1, .output = "could not find inband device\n"});
  EXPECT_THAT(probe->Look(limits)->not_watched, ElementsAre("bmc_sensor", "bmc_log"));
  processes.On("ipmi-sel", {.exit_code = 1, .output = "ipmi-sel: driver timeout\n"});
  processes.On("ipmi-sensors", {.exit_code = 1, .output = "ipmi-sensors: BMC busy\n"});
  EXPECT_THAT(Look(*probe), ElementsAre("unknown bmc_log", "unknown bmc_sensor"));

  const auto say = [&](const std::string& sensors, const std::string& info,
                       const std::string& events) {
    processes.On("ipmi-sensors", {.out = sensors, .output = sensors});
    processes.On("ipmi-sel --info", {.out = info, .output = info});
    processes.On("ipmi-sel --output-event-state", {.out = events, .output = events});
    processes.ClearLog();
  };
  const std::string old =
      "1,Nov-27-2026,21:10:11,PSU1 Status,Power Supply,Critical,Power Supply Failure detected\n";
  say("1,PSU1 Status,Power Supply,Nominal,N/A,N/A,'Presence detected'\n", "entries : 1\n", old);
  EXPECT_THAT(Look(*probe), IsEmpty());  // what it logged before is history
  EXPECT_EQ(processes.commands().size(), 3u);
  EXPECT_THAT(Look(*probe), IsEmpty());
  EXPECT_EQ(processes.commands().size(), 4u);  // nothing was added to the log
  clock.Advance(absl::Hours(1));
  EXPECT_THAT(Look(*probe), IsEmpty());
  EXPECT_EQ(processes.commands().size(), 6u);  // the sensors' hour

  say("1,PSU1 Status,Power Supply,Critical,N/A,N/A,'Presence detected' 'Power Supply Failure "
      "detected'\n4,Fan 1, rear,Fan,Critical,0.00,RPM,'At or Below (<=) Lower Critical Threshold'\n"
      "5,Fan 1, rear,Fan,Critical,0.00,RPM,'At or Below (<=) Lower Critical Threshold'\n"
      "6,Temp,Temperature,Warning,41.00,C,'At or Above (>=) Upper Non-Critical "
      "Threshold'\nrubbish\n",
      "entries : 2\nEvents dropped due to lack of space    : Yes\n",
      old +
          "2,PostInit,PostInit,Sensor #16,Memory,Critical,Uncorrectable memory error\n"
          "3,PostInit,PostInit,PSU2 Status,Power Supply,Nominal,Presence detected\n");
  clock.Advance(absl::Minutes(5));
  const auto found = probe->Look(limits);
  EXPECT_THAT(Names(found), ElementsAre("bmc_log full", "bmc_log", "bmc_sensor PSU1 Status",
                                        "bmc_sensor Fan 1, rear", "bmc_sensor Fan 1, rear #5"));
  EXPECT_EQ(found->troubles[3].evidence,
            "Fan 1, rear (Fan): 0.00 RPM 'At or Below (<=) Lower Critical Threshold'");
  EXPECT_EQ(
      found->troubles[1].evidence,
      "critical events within a day: 1; the last: Sensor #16 (Memory): Uncorrectable memory error");

  processes.ClearLog();
  EXPECT_EQ(probe->Look(limits)->troubles.size(), 5u);
  EXPECT_EQ(processes.commands().size(), 2u);  // what is critical is looked at each time
  say("", "entries : 0\nEvents dropped due to lack of space    : No\n", "");  // --clear
  clock.Advance(absl::Hours(12));
  EXPECT_THAT(Look(*probe), ElementsAre("bmc_log"));
  clock.Advance(absl::Hours(13));
  EXPECT_THAT(Look(*probe), IsEmpty());
}

TEST_F(HealthProbes, ABmcWhoseLogIsFullAndOverwritesItself) {
  const auto event = [](int id, const char* time, const char* state) {
    return absl::StrCat(id, ",Nov-27-2026,", time, ",PSU,Power Supply,", state, ",failed\n");
  };
  std::vector<std::string> log;
  for (int i = 0; i < 6; ++i)
    log.push_back(event(65530 + i, "10:00:00", i % 2 == 0 ? "Critical" : "Nominal"));
  int additions = 0;
  const auto say = [&] {
    const std::string info = absl::StrCat("additions: ", ++additions, "\n");
    const std::string events = absl::StrJoin(log, "");
    processes.On("ipmi-sel --info", {.out = info, .output = info});
    processes.On("ipmi-sel --output-event-state", {.out = events, .output = events});
    clock.Advance(absl::Minutes(5));
  };
  const auto probe = MakeBmcProbe(context());
  say();
  EXPECT_THAT(Look(*probe), IsEmpty());
  // Each event that is added pushes the oldest one out, and the ids begin anew.
  const auto add = [&](const std::string& added) {
    log.erase(log.begin());
    log.push_back(added);
    say();
  };
  add(event(1, "11:00:00", "Nominal"));
  EXPECT_THAT(Look(*probe), IsEmpty()) << "a critical one went, none came";
  add(event(2, "11:00:01", "Nominal"));
  EXPECT_THAT(Look(*probe), IsEmpty());
  add(event(3, "11:00:02", "Critical"));
  const auto found = probe->Look(limits);
  EXPECT_THAT(Names(found), ElementsAre("bmc_log"));
  EXPECT_THAT(found->troubles[0].evidence, HasSubstr("within a day: 1;"));
  // The agent that starts after a boot knows what was seen, and what came meanwhile.
  v1::HealthRecord record;
  trends.Save(record);
  trends.Load(record, /*same_boot=*/false);
  clock.Advance(absl::Hours(25));
  const auto next = MakeBmcProbe(context());
  EXPECT_THAT(Look(*next), IsEmpty());
  add("4,PostInit,PostInit,DIMM,Memory,Critical,Uncorrectable memory error\n");
  EXPECT_THAT(Look(*next), ElementsAre("bmc_log"));
  // All of a log that was cleared and has filled again is new.
  clock.Advance(absl::Hours(25));
  EXPECT_THAT(Look(*next), IsEmpty());
  log = {event(5, "12:00:00", "Nominal")};
  say();
  EXPECT_THAT(Look(*next), IsEmpty());
  log = {event(1, "13:00:00", "Critical"), event(2, "13:00:01", "Nominal")};
  say();
  EXPECT_THAT(Look(*next), ElementsAre("bmc_log"));
}

TEST_F(HealthProbes, MemoryErrors) {
  const auto probe = MakeMemoryProbe(context());
  EXPECT_THAT(probe->Look(limits)->not_watched, ElementsAre("memory_ecc", "memory_ecc_corrected"));
  const std::string mc = "/sys/devices/system/edac/mc/mc0";
  Write(mc + "/ue_count", "0\n");
  Write(mc + "/ce_count", "50000\n");
  EXPECT_THAT(Look(*probe), IsEmpty());
  clock.Advance(absl::Minutes(1));
  Write(mc + "/ce_count", "50101\n");
  EXPECT_THAT(Look(*probe), ElementsAre("memory_ecc_corrected mc0"));
  Write(mc + "/ue_count", "1\n");
  EXPECT_THAT(Look(*probe), ElementsAre("memory_ecc mc0", "memory_ecc_corrected mc0"));
}

TEST_F(HealthProbes, Units) {
  units.units["backup.service"].status.active_state = "failed";
  units.units["munge.service"].status.unit_file_state = "enabled";
  units.units["munge.service"].status.active_state = "failed";
  units.units["slurmd.service"].status.unit_file_state = "disabled";
  const auto probe = MakeUnitProbe(context());
  const auto findings = probe->Look(limits);
  EXPECT_THAT(Names(findings), ElementsAre("unit_failed backup.service", "munge_down"));
  EXPECT_THAT(findings->not_watched, ElementsAre("slurmd_down"));
  units.units["slurmd.service"].status.unit_file_state = "enabled";
  units.units["munge.service"].status.active_state = "active";
  EXPECT_THAT(Look(*probe), ElementsAre("unit_failed backup.service", "slurmd_down"));
  units.units["slurmd.service"].status.active_state = "activating";
  EXPECT_THAT(Look(*probe), ElementsAre("unit_failed backup.service"));
}

TEST_F(HealthProbes, ClockAsChronySeesIt) {
  const auto probe = MakeTimeProbe(context());
  const auto tracking = [](const char* offset, const char* leap) {
    return FakeProcessRunner::Prints(
        absl::StrCat("0A000001,10.0.0.1,3,1700000000.0,", offset,
                     ",0.000002,0.000003,-1.5,0.001,0.02,0.0004,0.0005,64.2,", leap, "\n"));
  };
  processes.On("chronyc -c tracking", tracking("0.000001", "Normal"));
  EXPECT_THAT(Look(*probe), IsEmpty());
  processes.On("chronyc -c tracking", tracking("-0.75", "Normal"));
  EXPECT_THAT(Look(*probe), ElementsAre("clock_offset"));
  processes.On("chronyc -c tracking", tracking("0", "Not synchronised"));
  EXPECT_THAT(Look(*probe), ElementsAre("clock_offset"));
  processes.On("chronyc -c tracking", FakeProcessRunner::Prints("nonsense"));
  EXPECT_FALSE(probe->Look(limits).ok());
}

}  // namespace
}  // namespace muster::agent::health
