#include "common/health/kernel_message.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/health/catalogue.h"

namespace muster::health {
namespace {

TEST(KernelMessage, ConditionsAreInTheCatalogue) {
  for (const KernelMessage& row : KernelMessages()) {
    if (row.condition.empty()) continue;
    EXPECT_NE(FindCondition(row.condition), nullptr) << std::string(row.condition);
  }
}

TEST(KernelMessage, SaysWhatIsWrongWithWhat) {
  struct Case {
    const char* line;
    const char* condition;
    const char* object;
  };
  for (
      const Case& c : {
          Case{"I/O error, dev sdb, sector 1234 op 0x0:(READ) flags 0x0", "disk_errors", "sdb"},
          Case{"Buffer I/O error on dev dm-3, logical block 0, async page read", "disk_errors",
               "dm-3"},
          Case{"critical medium error, dev nvme0n1, sector 1234 op 0x0:(READ) flags 0x0",
               "disk_errors", "nvme0n1"},
          Case{"critical target error, dev sdb, sector 1234", "disk_errors", "sdb"},
          Case{"protection error, dev sdb, sector 1234", "disk_errors", "sdb"},
          Case{"XFS (sda1): log I/O error -5", "disk_errors", "sda1"},
          Case{"EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2", "disk_errors",
               "sda1"},
          Case{"XFS (nvme0n1p2): Corruption detected. Unmount and run xfs_repair", "disk_errors",
               "nvme0n1p2"},
          Case{"EXT4-fs (sda1): Remounting filesystem read-only", "disk_readonly", "sda1"},
          Case{"XFS (dm-3): Corruption of in-memory data (0x8) detected at "
               "xfs_trans_cancel+0x144/0x150 "
               "[xfs] (fs/xfs/xfs_trans.c:1097).  Shutting down filesystem.",
               "disk_readonly", "dm-3"},
          Case{"XFS (sdb1): Log I/O Error Detected. Shutting down filesystem", "disk_readonly",
               "sdb1"},
          Case{"XFS (sdb1): Filesystem has been shut down due to log error (0x2).", "disk_readonly",
               "sdb1"},
          Case{"pcieport 0000:00:1c.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), "
               "type=Transaction Layer",
               "pcie_error", "0000:00:1c.0"},
          Case{"NVRM: GPU 0000:3B:00.0: GPU has fallen off the bus.", "gpu_xid", "0000:3b:00.0"},
          Case{
              R"(NVRM: The NVIDIA GPU 0000:3b:00.0 (PCI ID: 10de:2330)\x0aNVRM: installed in this )"
              R"(system has\x0aNVRM: fallen off the bus and is not responding to commands.)",
              "gpu_xid", "0000:3b:00.0"},
          Case{"NVRM: GPU at PCI:0000:3b:00: GPU-1 has fallen off the bus", "gpu_xid",
               "0000:3b:00"},
          Case{"mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 5: be00000000800400",
               "machine_check", ""},
          Case{"mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 5: 8c00004000010091", "", ""},
          Case{"watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python:1234]", "kernel_lockup",
               ""},
          Case{"NMI watchdog: Watchdog detected hard LOCKUP on cpu 3", "kernel_lockup", ""},
          Case{"watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 3", "kernel_lockup", ""},
          Case{"watchdog: CPU 3 self-detected hard LOCKUP @ plpar_hcall+0x1c", "kernel_lockup", ""},
          Case{"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "kernel_lockup", ""},
          Case{"rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 5-.... } 21 "
               "jiffies",
               "kernel_lockup", ""},
          Case{
              "mce: CPU3: Core temperature above threshold, cpu clock throttled (total events = 1)",
              "cpu_temperature", ""},
          Case{"CPU3: Package temperature is above threshold, cpu clock is throttled (total events "
               "= "
               "1)",
               "cpu_temperature", ""},
          Case{"INFO: task kworker/1:2:431 blocked for more than 120 seconds.", "hung_task", ""},
          Case{"Memory cgroup out of memory: Killed process 7 (I/O error) total-vm:1kB", "oom_kill",
               ""},
          Case{"BUG: unable to handle page fault for address: ffff8880", "kernel_oops", ""},
          Case{"general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP",
               "kernel_oops", ""},
          Case{"general protection fault: 0000 [#1] SMP PTI", "kernel_oops", ""},
          Case{"Oops: general protection fault: 0000 [#1] SMP NOPTI", "kernel_oops", ""},
          Case{"divide error: 0000 [#1] PREEMPT SMP", "kernel_oops", ""},
          Case{"Oops: divide error: 0000 [#2] SMP", "kernel_oops", ""},
          Case{"stack segment: 0000 [#1] SMP", "kernel_oops", ""},
          Case{"EDAC MC0: 1 CE memory read error on CPU_SrcID#0 (channel:1 page:0x1)", "", ""},
      }) {
    SCOPED_TRACE(c.line);
    const std::optional<MessageMeaning> meaning = ReadKernelMessage(c.line);
    ASSERT_TRUE(meaning.has_value());
    EXPECT_EQ(meaning->condition, c.condition);
    EXPECT_EQ(meaning->object, c.object);
  }
  for (const char* line :
       {"", "usb 1-1: new high-speed USB device", "mce: CPU supports 32 banks",
        "EDAC MC: Ver: 3.0.0", "NVRM: loading NVIDIA UNIX x86_64 Module",
        "EXT4-fs (sda1): re-mounted. Opts: errors=remount-ro", "XFS (sda1): Unmounting Filesystem",
        "traps: a.out[71] general protection fault ip:401136 sp:7ffd error:0",
        "traps: a.out[72] trap divide error ip:401136 sp:7ffd error:0"}) {
    EXPECT_FALSE(ReadKernelMessage(line).has_value()) << line;
  }
}

TEST(KernelMessage, OnlyDisksAreHardware) {
  for (const char* line :
       {"I/O error, dev sda, sector 0", "Buffer I/O error on dev dm-3, logical block 0",
        "I/O error, dev md127, sector 8", "critical medium error, dev nvme0n1, sector 8",
        "I/O error, dev srv, sector 0", "EXT4-fs (sda1): I/O error while writing superblock"}) {
    EXPECT_EQ(ReadKernelMessage(line)->cause, Cause::kHardware) << line;
    EXPECT_EQ(ReadKernelMessage(line)->condition, "disk_errors") << line;
  }
  for (const char* line :
       {"I/O error, dev fd0, sector 0", "blk_update_request: I/O error, dev sr0, sector 0",
        "critical medium error, dev sr1, sector 0", "I/O error, dev loop12, sector 0",
        "Buffer I/O error on dev nbd3p1, logical block 0", "I/O error, dev ram0, sector 0",
        "I/O error, dev zram0, sector 0", "XFS (loop0): log I/O error -5",
        "EXT4-fs error (device loop0): ext4_find_entry:1455: inode #2",
        "EXT4-fs (loop0): Remounting filesystem read-only"}) {
    EXPECT_EQ(ReadKernelMessage(line)->cause, Cause::kSoftware) << line;
    EXPECT_EQ(ReadKernelMessage(line)->condition, "") << line;
  }
}

TEST(KernelMessage, ObjectsAreShortWords) {
  const std::optional<MessageMeaning> meaning =
      ReadKernelMessage(absl::StrCat("I/O error, dev ", std::string(1000, 'x'), "\x1b[31m"));
  ASSERT_TRUE(meaning.has_value());
  EXPECT_EQ(meaning->object, std::string(64, 'x'));
  EXPECT_EQ(ReadKernelMessage("I/O error, dev \x1b[31m")->object, "");
}

TEST(KernelMessage, ReadsXids) {
  const auto xid = ParseXidMessage("NVRM: Xid (PCI:0000:3B:00): 79, pid='<unknown>', name=x");
  ASSERT_TRUE(xid.has_value());
  EXPECT_EQ(xid->slot, "0000:3b:00");
  EXPECT_EQ(xid->xid, 79);
  EXPECT_EQ(ParseXidMessage("NVRM: Xid (0000:03:00): 43, Ch 00000010")->slot, "0000:03:00");
  const auto of_instance = ParseXidMessage("NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 109, pid=7");
  ASSERT_TRUE(of_instance.has_value());
  EXPECT_EQ(of_instance->slot, "0000:3b:00");
  EXPECT_EQ(of_instance->xid, 109);
  for (const char* line : {"NVRM: Xid (PCI:0000:3b:00)", "NVRM: Xid (PCI:0000:3b:00): x",
                           "NVRM: Xid (PCI:0000:3b:00): 99999999999999999999", "Xid 79"}) {
    EXPECT_FALSE(ParseXidMessage(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace muster::health
