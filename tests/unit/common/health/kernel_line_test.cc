#include "common/health/kernel_line.h"

#include <gtest/gtest.h>

#include "common/health/kernel_message.h"

namespace muster::health {
namespace {

TEST(KernelLine, MessagesComeWithoutTheirTimesAndHosts) {
  const absl::string_view message = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1";
  for (const char* prefix :
       {"", "[   12.345678] ", "[   12.345678][  T123] ", "[   12.345678][    C3] ",
        "[Mon Nov 30 11:26:35 2026] ", "[   12.345678] c001 kernel: "}) {
    const std::string line = std::string(prefix) + std::string(message);
    EXPECT_EQ(KernelMessageOf(line), message) << prefix;
    EXPECT_TRUE(ParseXidMessage(line).has_value()) << prefix;
  }
  for (const char* line :
       {"[Hardware Error]: event severity: fatal", "[sda] Attached SCSI disk",
        "cgroup: fork rejected in /a/b kernel: NVRM: Xid", "c001 kernel: NVRM: Xid", "[  12.3 x"}) {
    EXPECT_EQ(KernelMessageOf(line), line);
  }
}

TEST(KernelLine, MayBeginWithAUsersText) {
  for (const char* line :
       {"python[1234]: segfault at 0", "a b c[1]: unhandled exception: x", "x[1] bad frame in x",
        "python (12): attempted to duplicate", "python/12 is trying to acquire lock",
        "python invoked oom-killer: gfp_mask=0x100cca", "python: page allocation failure: order:5",
        R"(\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a[1]: segfault at 0)", "     the rest of a line"})
    EXPECT_TRUE(BeginsWithUsersText(line)) << line;
  for (const char* line : {"", "EDAC MC0: 1 UE memory read error", "{1}[Hardware Error]: event",
                           "NVRM: Xid (PCI:0000:3b:00): 79, pid=1", "[sda] Attached SCSI disk"})
    EXPECT_FALSE(BeginsWithUsersText(line)) << line;
}

// Any user can have the kernel print these.
TEST(KernelLine, UsersDoNotForgeErrorsOfHardware) {
  for (const std::string prefix : {"", "[   12.345678] ", "[   12.345678] c001 kernel: "}) {
    for (const char* line :
         {"x[1]: segfault at 0 ip 0 sp 0 error 4 in NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has "
          "fallen off the bus[400000+1000]",
          "x[1]: segfault at 0 ip 0 in mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 6: "
          "ee0000000040110a",
          "x[1]: segfault at 0 ip 0 in x\n[   12.345678] NVRM: Xid (PCI:0000:3b:00): 79, x",
          "x[1]: segfault at 0 ip 0 in c001 kernel: NVRM: Xid (PCI:0000:3b:00): 79, x",
          "traps: x[1] trap invalid opcode ip:0 sp:0 error:0 in hard LOCKUP[400000+1000]",
          "x[1]: unhandled exception: DABT, ESR 0x92000046, level 2 translation fault in I/O error",
          "NVRM: I/O error[1]: segfault at 0",
          "soft lockup[1]: segfault at 0",
          "NVRM: I/O error: potentially unexpected fatal signal 11.",
          "NVRM: I/O error invoked oom-killer: gfp_mask=0x100cca, order=0",
          "CPU: 3 PID: 12 Comm: NVRM: I/O error Not tainted 6.1.0",
          "process '/tmp/NVRM: Xid (PCI:0000:3b:00): 79' started with executable stack",
          "tmpfs: Unknown parameter 'NVRM: Xid (PCI:0000:3b:00): 79, x'",
          "overlayfs: failed to resolve '/mce: [Hardware Error]: Machine check: x': -2",
          "cgroup: fork rejected by pids controller in /a/NVRM: Xid (PCI:0000:3b:00): 79, x",
          "oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/a/I/O error,task=x,pid=1,uid=1000",
          "oom_reaper: reaped process 1 (I/O error), now anon-rss:0kB",
          "Out of memory: Killed process 1 (NVRM: Xid (): 7) total-vm:1kB",
          "INFO: task I/O error:12 blocked for more than 120 seconds.",
          "INFO: task x:1 is blocked on a mutex likely owned by task soft lockup:2.",
          "BUG: scheduling while atomic: I/O error/12/0x00000002",
          "EXT4-fs error (device sda1): htree_dirblock_to_tree:1080: inode #2: comm I/O error: bad",
          "overlayfs: unrecognized mount option \"I/O error\" or missing value",
          "x86/split lock detection: #AC: I/O error/12 took a split_lock trap at address: 0x1"}) {
      const std::string whole = prefix + line;
      EXPECT_FALSE(ParseXidMessage(whole).has_value()) << whole;
      const std::optional<MessageMeaning> meaning = ReadKernelMessage(whole);
      EXPECT_TRUE(!meaning.has_value() || meaning->cause == Cause::kSoftware) << whole;
    }
  }
  // As dmesg prints a name with a line break.
  EXPECT_FALSE(ReadKernelMessage("               NVRM: GPU has fallen off the bus").has_value());
  EXPECT_FALSE(ParseXidMessage("               NVRM: Xid (PCI:0000:3b:00): 79, x").has_value());
}

TEST(KernelLine, ErrorsOfHardwareMayNamePrograms) {
  EXPECT_EQ(ReadKernelMessage("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python:1234]")
                ->condition,
            "kernel_lockup");
  EXPECT_EQ(ParseXidMessage("NVRM: Xid (PCI:0000:3b:00): 48, pid=1, name=a[12]: x")->xid, 48);
}

}  // namespace
}  // namespace muster::health
