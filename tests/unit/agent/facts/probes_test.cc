#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/facts/probe.h"
#include "muster/v1/facts.pb.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

// A small copy of a kernel's files, in a temporary folder.
class Probes : public ::testing::Test {
 protected:
  Probes() : root_(::testing::TempDir() + "/probe-root-" + std::to_string(getpid())) {
    std::filesystem::remove_all(root_);
    context_.root = root_;
  }
  ~Probes() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }

  const std::string root_;
  ProbeContext context_;
  v1::Facts facts_;
};

TEST_F(Probes, MemoryInMebibytesRoundedDown) {
  Write("/proc/meminfo", "MemTotal:       197925516 kB\nSwapTotal:       2047996 kB\n");
  ASSERT_OK(ProbeMemory(context_, facts_));
  EXPECT_EQ(facts_.memory().total_mib(), 193286u);
  EXPECT_EQ(facts_.memory().swap_mib(), 1999u);
}

TEST_F(Probes, MemoryWithoutTotalIsAnError) {
  Write("/proc/meminfo", "garbage\n");
  EXPECT_THAT(ProbeMemory(context_, facts_), StatusIs(absl::StatusCode::kDataLoss, Said()));
  std::filesystem::remove(root_ + "/proc/meminfo");
  EXPECT_THAT(ProbeMemory(context_, facts_), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(Probes, DisksWithoutVirtualAndEmptyOnes) {
  Write("/sys/block/nvme0n1/size", "3750748848\n");
  Write("/sys/block/nvme0n1/device/model", "SAMSUNG MZQL21T9HCJR-00A07  \n");
  Write("/sys/block/nvme0n1/device/serial", "S64GNE0R\n");
  Write("/sys/block/nvme0n1/device/firmware_rev", "GDC5602Q\n");
  Write("/sys/block/nvme0n1/queue/rotational", "0\n");
  Write("/sys/block/sda/size", "7814037168\n");
  Write("/sys/block/sda/device/rev", "A5D0\n");
  Write("/sys/block/sda/queue/rotational", "1\n");
  Write("/sys/block/sdb/size", "0\n");
  Write("/sys/block/loop0/size", "8\n");
  ASSERT_OK(ProbeDisks(context_, facts_));
  ASSERT_EQ(facts_.disks_size(), 2);
  EXPECT_EQ(facts_.disks(0).name(), "nvme0n1");
  EXPECT_EQ(facts_.disks(0).size_bytes(), 1920383410176u);
  EXPECT_EQ(facts_.disks(0).model(), "SAMSUNG MZQL21T9HCJR-00A07");
  EXPECT_EQ(facts_.disks(0).firmware(), "GDC5602Q");
  EXPECT_EQ(facts_.disks(1).firmware(), "A5D0");
  EXPECT_FALSE(facts_.disks(0).rotational());
  EXPECT_TRUE(facts_.disks(1).rotational());
}

TEST_F(Probes, NeighborsWhereLldpdIsInstalled) {
  FakeProcessRunner processes;
  context_.processes = &processes;
  ASSERT_OK(ProbeNeighbors(context_, facts_));
  EXPECT_EQ(facts_.neighbors_size(), 0) << "few nodes have lldpd, which nobody needs to be told";
  processes.On("lldpcli -f json0 show neighbors",
               FakeProcessRunner::Prints("unable to connect to socket", 1));
  EXPECT_THAT(ProbeNeighbors(context_, facts_), StatusIs(absl::StatusCode::kInternal, Said()));
  processes.On("lldpcli -f json0 show neighbors", FakeProcessRunner::Prints(R"({"lldp": [
      {"interface": [{"name": "eno1", "chassis": [{"name": [{"value": "leaf03"}]}],
                      "port": [{"id": [{"type": "ifname", "value": "Ethernet1/7"}]}]}]}]})"));
  ASSERT_OK(ProbeNeighbors(context_, facts_));
  ASSERT_EQ(facts_.neighbors_size(), 1);
  EXPECT_EQ(facts_.neighbors(0).interface(), "eno1");
  EXPECT_EQ(facts_.neighbors(0).system(), "leaf03");
  EXPECT_EQ(facts_.neighbors(0).port(), "Ethernet1/7");
}

TEST_F(Probes, NicsWithSpeedOnlyWhereTheDriverTells) {
  for (const char* name : {"eth0", "ib0", "lo"}) {
    const std::string nic = std::string("/sys/class/net/") + name;
    Write(nic + "/address", "52:54:00:12:34:56\n");
    Write(nic + "/mtu", "9000\n");
    Write(nic + "/operstate", "up\n");
  }
  Write("/sys/class/net/eth0/type", "1\n");
  Write("/sys/class/net/eth0/speed", "10000\n");
  Write("/sys/class/net/ib0/type", "32\n");
  Write("/sys/class/net/ib0/speed", "-1\n");
  Write("/sys/class/net/lo/type", "772\n");
  ASSERT_OK(ProbeNics(context_, facts_));
  ASSERT_EQ(facts_.nics_size(), 2);
  EXPECT_EQ(facts_.nics(0).kind(), "ethernet");
  EXPECT_EQ(facts_.nics(0).speed_mbits_per_s(), 10000u);
  EXPECT_EQ(facts_.nics(0).mtu(), 9000u);
  EXPECT_TRUE(facts_.nics(0).up());
  EXPECT_EQ(facts_.nics(1).kind(), "infiniband");
  EXPECT_FALSE(facts_.nics(1).has_speed_mbits_per_s());
}

TEST_F(Probes, ActiveInfinibandPortsWithoutANetworkInterface) {
  Write("/sys/class/net/lo/type", "772\n");
  const std::string devices = "/sys/class/infiniband/";
  for (const auto& [port, layer, state] : {std::tuple{"mlx5_0/ports/1", "InfiniBand", "4: ACTIVE"},
                                           std::tuple{"mlx5_1/ports/1", "InfiniBand", "1: DOWN"},
                                           std::tuple{"mlx4_0/ports/2", "InfiniBand", "4: ACTIVE"},
                                           std::tuple{"mlx5_2/ports/1", "Ethernet", "4: ACTIVE"}}) {
    Write(devices + port + "/link_layer", std::string(layer) + "\n");
    Write(devices + port + "/state", std::string(state) + "\n");
  }
  ASSERT_OK(ProbeNics(context_, facts_));
  EXPECT_EQ(facts_.nics_size(), 0);
  EXPECT_EQ(facts_.infiniband_ports(), 2u);
}

TEST_F(Probes, TheMachineAsItsFirmwareDescribesIt) {
  Write("/sys/class/dmi/id/sys_vendor", "Supermicro\n");
  Write("/sys/class/dmi/id/product_name", "SYS-821GE-TNHR\n");
  Write("/sys/class/dmi/id/product_serial", "S498811X\n");
  Write("/sys/class/dmi/id/bios_version", "2.1\n");
  Write("/sys/class/dmi/id/bios_date", "10/27/2023\n");
  Write("/sys/devices/system/cpu/cpu0/microcode/version", "0x2b000590\n");
  ASSERT_OK(ProbeMachine(context_, facts_));
  EXPECT_EQ(facts_.machine().vendor(), "Supermicro");
  EXPECT_EQ(facts_.machine().product(), "SYS-821GE-TNHR");
  EXPECT_EQ(facts_.machine().bios_version(), "2.1");
  EXPECT_EQ(facts_.machine().bios_date(), "10/27/2023");
  EXPECT_EQ(facts_.machine().microcode(), "0x2b000590");
  EXPECT_EQ(facts_.machine().serial(), "S498811X");
}

TEST_F(Probes, AMachineThatTellsNothingIsNoError) {
  ASSERT_OK(ProbeMachine(context_, facts_));
  EXPECT_EQ(facts_.machine().bios_version(), "");
}

std::string Stanza(const std::string& name, const std::string& status, const std::string& version) {
  return absl::StrCat("Package: ", name, "\nStatus: ", status,
                      "\nArchitecture: amd64\nVersion: ", version,
                      "\nDescription: text\n more of it\n\n");
}

TEST_F(Probes, PackagesHaveOneDigestWhateverTheirOrder) {
  const std::string munge = Stanza("munge", "install ok installed", "0.5.15-2");
  const std::string slurm = Stanza("slurmd", "hold ok installed", "22.05.8-4");
  const std::string gone = Stanza("nano", "deinstall ok config-files", "7.2-1");
  const auto probe = [&](const std::string& status) {
    Write("/var/lib/dpkg/status", status);
    v1::Facts facts;
    EXPECT_OK(ProbePackages(context_, facts));
    return facts.packages();
  };
  const v1::PackageFacts first = probe(munge + slurm + gone);
  EXPECT_EQ(first.count(), 2u);
  EXPECT_EQ(first.digest().size(), 64u);
  EXPECT_EQ(probe(gone + slurm + munge).digest(), first.digest());
  EXPECT_EQ(probe(slurm + munge).digest(), first.digest());
  EXPECT_NE(probe(munge + Stanza("slurmd", "hold ok installed", "22.05.8-5")).digest(),
            first.digest());
  EXPECT_NE(probe(munge).digest(), first.digest());
}

TEST_F(Probes, PackagesAreNamedWhereTheyAreAskedFor) {
  Write("/var/lib/dpkg/status", Stanza("slurmd", "hold ok installed", "22.05.8-4") +
                                    Stanza("munge", "install ok installed", "0.5.15-2"));
  const auto probe = [&](bool with_packages) {
    context_.with_packages = with_packages;
    v1::Facts facts;
    EXPECT_OK(ProbePackages(context_, facts));
    return facts.packages();
  };
  const v1::PackageFacts plain = probe(false);
  EXPECT_EQ(plain.lines_size(), 0);
  const v1::PackageFacts named = probe(true);
  EXPECT_THAT(named.lines(), ElementsAre("munge amd64 0.5.15-2", "slurmd amd64 22.05.8-4"));
  EXPECT_EQ(named.digest(), plain.digest());
  EXPECT_EQ(probe(false).lines_size(), 0);
  // A list that is too long for a message is left out whole.
  std::string much;
  for (int i = 0; i < 9000; ++i)
    much += Stanza(absl::StrCat("package-", i, std::string(100, 'x')), "install ok installed", "1");
  Write("/var/lib/dpkg/status", much);
  EXPECT_EQ(probe(true).lines_size(), 0);
  EXPECT_EQ(probe(true).count(), 9000u);
}

TEST_F(Probes, PackagesOfRpmAreAskedForOnceUntilTheyChange) {
  FakeProcessRunner processes;
  context_.processes = &processes;
  processes.On("rpm", FakeProcessRunner::Prints("munge x86_64 0.5.13-13.el9\n"
                                                "bash x86_64 5.1.8-9.el9\n"));
  // The tools of the other family, without a package.
  Write("/var/lib/dpkg/status", "");
  Write("/var/lib/rpm/rpmdb.sqlite", "first");
  ASSERT_OK(ProbePackages(context_, facts_));
  EXPECT_EQ(facts_.packages().count(), 2u);
  ASSERT_OK(ProbePackages(context_, facts_));
  EXPECT_EQ(processes.commands().size(), 1u);
  Write("/var/lib/rpm/rpmdb.sqlite-wal", "a change");
  ASSERT_OK(ProbePackages(context_, facts_));
  EXPECT_EQ(processes.commands().size(), 2u);
}

TEST_F(Probes, NoRecordOfPackagesIsAnError) {
  EXPECT_THAT(ProbePackages(context_, facts_), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(Probes, PciListsNvidiaAndMellanoxOnly) {
  const std::string devices = "/sys/bus/pci/devices/";
  Write(devices + "0000:00:1f.2/vendor", "0x8086\n");
  Write(devices + "0000:3b:00.0/vendor", "0x10de\n");
  Write(devices + "0000:3b:00.0/device", "0x1e07\n");
  Write(devices + "0000:3b:00.0/class", "0x030000\n");
  Write(devices + "0000:3b:00.0/numa_node", "1\n");
  Write(devices + "0000:5e:00.0/vendor", "0x15b3\n");
  Write(devices + "0000:5e:00.0/device", "0x1003\n");
  Write(devices + "0000:5e:00.0/class", "0x020700\n");
  std::filesystem::create_directory_symlink("../../../bus/pci/drivers/mlx4_core",
                                            root_ + devices + "0000:5e:00.0/driver");
  ASSERT_OK(ProbePci(context_, facts_));
  ASSERT_EQ(facts_.pci_devices_size(), 2);
  EXPECT_EQ(facts_.pci_devices(0).device_id(), "1e07");
  EXPECT_EQ(facts_.pci_devices(0).class_code(), "030000");
  EXPECT_EQ(facts_.pci_devices(0).numa_node(), 1);
  EXPECT_EQ(facts_.pci_devices(0).driver(), "");
  EXPECT_EQ(facts_.pci_devices(1).driver(), "mlx4_core");
  EXPECT_EQ(facts_.pci_devices(1).numa_node(), -1);
}

TEST_F(Probes, MountsWithoutTheKernelsOwnAndUnescaped) {
  Write("/proc/self/mounts",
        "proc /proc proc rw 0 0\n"
        "systemd-1 /proc/sys/fs/binfmt_misc autofs rw,fd=29,direct 0 0\n"
        "/dev/sda1 / ext4 rw,relatime 0 0\n"
        "auto.home /home autofs rw,fd=6,indirect 0 0\n"
        "beegfs_nodev /mnt/with\\040blank beegfs rw 0 0\n");
  ASSERT_OK(ProbeMounts(context_, facts_));
  ASSERT_EQ(facts_.mounts_size(), 3);
  EXPECT_EQ(facts_.mounts(0).target(), "/");
  EXPECT_EQ(facts_.mounts(1).target(), "/home");
  EXPECT_EQ(facts_.mounts(1).type(), "autofs");
  EXPECT_EQ(facts_.mounts(2).target(), "/mnt/with blank");
  EXPECT_EQ(facts_.mounts(2).type(), "beegfs");
}

TEST_F(Probes, CgroupVersionsAndContainers) {
  Write("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
  ASSERT_OK(ProbeCgroup(context_, facts_));
  EXPECT_EQ(facts_.cgroup().version(), 2u);
  EXPECT_THAT(facts_.cgroup().controllers(), ElementsAre("cpuset", "cpu", "io", "memory", "pids"));
  EXPECT_TRUE(facts_.cgroup().usable_by_slurm());

  Write("/run/systemd/container", "systemd-nspawn\n");
  v1::Facts contained;
  ASSERT_OK(ProbeCgroup(context_, contained));
  EXPECT_FALSE(contained.cgroup().usable_by_slurm());
}

TEST_F(Probes, CgroupVersion1ListsMountedControllers) {
  Write("/sys/fs/cgroup/cpuset/tasks", "1\n");
  Write("/sys/fs/cgroup/memory/tasks", "1\n");
  Write("/sys/fs/cgroup/systemd/tasks", "1\n");
  ASSERT_OK(ProbeCgroup(context_, facts_));
  EXPECT_EQ(facts_.cgroup().version(), 1u);
  EXPECT_THAT(facts_.cgroup().controllers(), ElementsAre("cpuset", "memory"));
}

TEST_F(Probes, SshHostKeysByType) {
  const std::string ed25519 =
      "AAAAC3NzaC1lZDI1NTE5AAAAIDg/unZORGmxy62IvYCumurDcGb1Vn1BZYoEWFdgUWhb";
  const std::string ecdsa =
      "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBF996KWqopy/vynyLALG37i/"
      "Ngsd4uo8PxM5FyzVn6bXJdsDLcjVS8P6PljMBSJG6Y8nQba6kFmCsaZ8o9WOhkg=";
  ASSERT_OK(ProbeSshHostKeys(context_, facts_));  // no ssh server
  EXPECT_EQ(facts_.ssh_host_keys_size(), 0);

  Write("/etc/ssh/ssh_host_ed25519_key.pub", "ssh-ed25519 " + ed25519 + " root@c001\n");
  Write("/etc/ssh/ssh_host_ecdsa_key.pub", "ecdsa-sha2-nistp256 " + ecdsa + " \n");
  Write("/etc/ssh/ssh_host_ed25519_key", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
  ASSERT_OK(ProbeSshHostKeys(context_, facts_));
  ASSERT_EQ(facts_.ssh_host_keys_size(), 2);
  EXPECT_EQ(facts_.ssh_host_keys(0).type(), "ecdsa-sha2-nistp256");
  EXPECT_EQ(facts_.ssh_host_keys(0).key(), ecdsa);
  EXPECT_EQ(facts_.ssh_host_keys(1).type(), "ssh-ed25519");
  EXPECT_EQ(facts_.ssh_host_keys(1).key(), ed25519);

  // A key that calls itself something else than its line does.
  Write("/etc/ssh/ssh_host_rsa_key.pub", "ssh-rsa " + ed25519 + "\n");
  EXPECT_THAT(ProbeSshHostKeys(context_, facts_), StatusIs(absl::StatusCode::kDataLoss, Said()));
}

TEST(Cpu, CountsThisMachineAsTheKernelDoes) {
  v1::Facts facts;
  ASSERT_OK(ProbeCpu({}, facts));
  const v1::CpuFacts& cpu = facts.cpu();
  EXPECT_EQ(cpu.cpus(), static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_EQ(cpu.cpus(), cpu.sockets() * cpu.cores_per_socket() * cpu.threads_per_core());
}

TEST_F(Probes, SlurmdWithItsProcessAndItsStart) {
  FakeProcessRunner processes;
  context_.processes = &processes;
  processes.On("slurmd -V", FakeProcessRunner::Prints("slurm-wlm 22.05.8\n"));
  processes.On("slurmd -C", FakeProcessRunner::Prints("NodeName=c001 CPUs=2\nUpTime=0-01:00:00\n"));
  processes.On("systemctl show",
               FakeProcessRunner::Prints("MainPID=412\nInvocationID=5f0c11ab9e1d4c6a\n"));
  ASSERT_OK(ProbeSlurm(context_, facts_));
  EXPECT_EQ(facts_.slurm().version(), "22.05.8");
  EXPECT_EQ(facts_.slurm().slurmd_c(), "NodeName=c001 CPUs=2");
  EXPECT_EQ(facts_.slurm().slurmd_pid(), 412u);
  EXPECT_EQ(facts_.slurm().slurmd_invocation(), "5f0c11ab9e1d4c6a");
}

// Without the name that the plugin opens, slurmd would report no GPU at all.
TEST_F(Probes, SlurmdFindsGpusByItsPluginAndTheDriversLibrary) {
  FakeProcessRunner processes;
  context_.processes = &processes;
  processes.On("slurmd", FakeProcessRunner::Prints("slurm-wlm 24.11.5\n"));
  processes.On("systemctl show", FakeProcessRunner::Prints("MainPID=0\nInvocationID=\n"));
  const auto autodetect = [&] {
    EXPECT_OK(ProbeSlurm(context_, facts_));
    return facts_.slurm().gpu_autodetect();
  };
  Write("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "");
  EXPECT_EQ(autodetect(), "");
  Write("/usr/lib/x86_64-linux-gnu/slurm-wlm/gpu_nvml.so", "");
  EXPECT_EQ(autodetect(), "");
  Write("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so", "");
  EXPECT_EQ(autodetect(), "nvml");
  std::filesystem::remove_all(root_ + "/usr/lib");
  Write("/usr/lib64/slurm/gpu_nvml.so", "");
  Write("/usr/lib64/libnvidia-ml.so", "");
  EXPECT_EQ(autodetect(), "nvml");
}

// One that dpkg has not configured yet has no modules.
TEST_F(Probes, TheNextKernelIsTheNewestWithModules) {
  FakeProcessRunner processes;
  context_.processes = &processes;
  processes.On("systemd-detect-virt", FakeProcessRunner::Prints("none\n"));
  Write("/etc/os-release", "ID=debian\n");
  ASSERT_OK(ProbeOs(context_, facts_));
  EXPECT_EQ(facts_.os().next_kernel(), "");
  for (const char* release : {"6.1.0-9-amd64", "6.1.0-44-amd64", "6.12.0-1-amd64"})
    Write(absl::StrCat("/boot/vmlinuz-", release), "");
  for (const char* release : {"6.1.0-9-amd64", "6.1.0-44-amd64"})
    Write(absl::StrCat("/lib/modules/", release, "/modules.dep"), "");
  ASSERT_OK(ProbeOs(context_, facts_));
  EXPECT_EQ(facts_.os().next_kernel(), "6.1.0-44-amd64");
}

TEST_F(Probes, KernelArgumentsAsTheBootLoaderGaveThem) {
  FakeProcessRunner processes;
  context_.processes = &processes;
  processes.On("systemd-detect-virt", FakeProcessRunner::Prints("none\n"));
  Write("/etc/os-release", "ID=debian\n");
  Write("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet\n");
  ASSERT_OK(ProbeOs(context_, facts_));
  EXPECT_EQ(facts_.os().kernel_arguments(), "BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet");
}

TEST_F(Probes, SlurmdThatSystemdDoesNotRun) {
  FakeProcessRunner processes;
  context_.processes = &processes;
  processes.On("slurmd", FakeProcessRunner::Prints("slurm 24.11.5\n"));
  processes.On("systemctl show", FakeProcessRunner::Prints("MainPID=0\nInvocationID=\n"));
  ASSERT_OK(ProbeSlurm(context_, facts_));
  EXPECT_EQ(facts_.slurm().slurmd_pid(), 0u);
  EXPECT_EQ(facts_.slurm().slurmd_invocation(), "");
}

// The kernel and its services are the build host's.
TEST_F(Probes, ARootIsDescribedByItsFilesAlone) {
  FakeProcessRunner processes;
  processes.On("slurmd -V", FakeProcessRunner::Prints("slurm-wlm 22.05.8\n"));
  context_.processes = &processes;
  context_.is_running = false;
  Write("/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n");
  Write("/proc/sys/kernel/random/boot_id", "the host's\n");
  Write("/proc/cmdline", "the host's\n");
  Write("/proc/stat", "btime 1700000000\n");
  Write("/boot/vmlinuz-6.1.0-44-amd64", "");
  Write("/lib/modules/6.1.0-44-amd64/modules.dep", "");
  ASSERT_OK(ProbeOs(context_, facts_));
  ASSERT_OK(ProbeSlurm(context_, facts_));
  EXPECT_EQ(facts_.os().id(), "debian");
  EXPECT_EQ(facts_.os().codename(), "bookworm");
  EXPECT_NE(facts_.os().package_architecture(), "");
  EXPECT_EQ(facts_.os().next_kernel(), "6.1.0-44-amd64");
  EXPECT_EQ(facts_.os().kernel(), "");
  EXPECT_EQ(facts_.os().hostname(), "");
  EXPECT_EQ(facts_.os().boot_id(), "");
  EXPECT_EQ(facts_.os().virtualization(), "");
  EXPECT_EQ(facts_.os().kernel_arguments(), "");
  EXPECT_FALSE(facts_.os().has_booted_at());
  EXPECT_EQ(facts_.slurm().version(), "22.05.8");
  EXPECT_EQ(facts_.slurm().slurmd_c(), "");
  EXPECT_THAT(processes.commands(), ElementsAre("slurmd -V"));
}

TEST(RootProbes, AreThoseOfFiles) {
  std::vector<std::string> names;
  for (const Probe& probe : RootProbes()) names.emplace_back(probe.name);
  EXPECT_THAT(names, ElementsAre("os", "slurm", "packages"));
}

}  // namespace
}  // namespace muster::agent
