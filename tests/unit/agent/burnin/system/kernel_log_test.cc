#include "agent/burnin/system/kernel_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::burnin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Each line as kernels and drivers print it, without the time.
constexpr const char* kBroken[] = {
    "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 "
    "page:0x7f3a1 offset:0x0 grain:32 -  err_code:0x0101:0x0090)",
    "{1}[Hardware Error]: event severity: recoverable",
    "{2}[Hardware Error]: event severity: fatal",
    "[Hardware Error]: Deferred error, no action required.",
    "[Hardware Error]: Uncorrected, software restartable error.",
    "[Hardware Error]: System Fatal error.",
    "mce: [Hardware Error]: Machine check: Processor context corrupt",
    "mce: [Hardware Error]: CPU 0: Machine Check Exception: 4 Bank 5: be00000000800400",
    "mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 6: ee0000000040110a",
    "mce: Uncorrected hardware memory error in user-access at 28b3e8000",
    "mce: CPU12: Package temperature above threshold, cpu clock throttled (total events = 1)",
    "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction "
    "Layer, (Requester ID)",
    "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link Layer, "
    "(Receiver ID)",
    "pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0",
    "pcieport 0000:3a:00.0: AER: Uncorrectable (Non-Fatal) error message received from "
    "0000:3b:00.0",
    "NVRM: GPU at PCI:0000:3b:00 has fallen off the bus.",
    "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x24:0xffff:1211)",
    "blk_update_request: I/O error, dev sdb, sector 1953525160 op 0x0:(READ) flags 0x80700",
    "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:214]",
    "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3",
    "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
};

constexpr const char* kCorrected[] = {
    "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 "
    "page:0x7f3a1 offset:0x0 grain:32 syndrome:0x0 -  err_code:0x0101:0x0090)",
    "{1}[Hardware Error]: event severity: corrected",
    "[Hardware Error]: Corrected error, no action required.",
    "mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 5: 8c00004000010091",
    "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
    "nvme 0000:01:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter "
    "ID)",
    "NVRM: Xid (PCI:0009:01:00): 121, C2C Link corrected error",
    "NVRM: Xid (PCI:0000:3b:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked "
    "for remapping, reset gpu to activate.",
    "NVRM: Xid (PCI:0000:3b:00): 92, High single-bit ECC error rate",
};

constexpr const char* kApplication[] = {
    "NVRM: Xid (PCI:0000:3b:00): 13, pid=41872, name=python3, Graphics Exception: ESR "
    "0x504730=0x3000e",
    "NVRM: Xid (PCI:0000:3b:00): 31, pid=41872, name=python3, Ch 00000008, intr 00000000. MMU "
    "Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f12_a0000000. Fault is of type FAULT_PDE",
    "NVRM: Xid (PCI:0000:3b:00): 32, pid=41872, name=python3, Channel ID 00000008 intr 00040000",
    "NVRM: Xid (PCI:0000:3b:00): 43, pid=41872, name=python3, Ch 00000008",
    // In the form of drivers before 450.
    "NVRM: Xid (0000:3b:00): 45, Ch 00000010, engmask 00000101",
    "NVRM: Xid (PCI:0000:3b:00): 94, pid=41872, name=python3, Contained: SM (0x1). RST: No",
    "NVRM: Xid (PCI:0000:3b:00): 137, pid=41872, name=python3, NVLink FLA privilege error",
};

// Start-up messages, and details of an error whose severity is in another line.
constexpr const char* kNothing[] = {
    "EDAC MC: Ver: 3.0.0",
    "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0",
    "mce: CPU supports 22 MCE banks",
    "mce: CPU0: Thermal monitoring enabled (TM1)",
    "mce: [Hardware Error]: Machine check events logged",
    "mce: [Hardware Error]: TSC 0 ADDR 3f1a2c0 MISC 9001040040401286",
    "mce: [Hardware Error]: PROCESSOR 0:50654 TIME 1700000000 SOCKET 0 APIC 0 microcode 2006e05",
    "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4",
    "{1}[Hardware Error]: It has been corrected by h/w and requires no further action",
    "{1}[Hardware Error]:   section_type: memory error",
    ("[Hardware Error]: CPU:2 (19:1:1) MC17_STATUS[-|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: "
     "0x9c2040000000011b"),
    "pcieport 0000:00:1c.0: AER: Corrected error received: 0000:01:00.0",
    "pcieport 0000:00:1c.0: AER: Correctable error message received from 0000:01:00.0",
    "pcieport 0000:00:1c.0: AER: enabled with IRQ 122",
    // Comes before the first Xid of a GPU, whichever that is.
    "NVRM: GPU at PCI:0000:3b:00: GPU-6a3e1f04-0f5c-9d1e-5f0a-2b7c1d9e8f11",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.261.03  Wed Jun 11 12:00:00 UTC 2025",
    "usb 1-1: new high-speed USB device number 2 using xhci_hcd",
};

KernelLogFindings ReadKernelLog(absl::string_view log) {
  KernelLogReader reader;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) reader.Take(line);
  return reader.findings();
}

TEST(KernelLog, BeginsWithItsFirstLineThatHasATime) {
  KernelLogReader reader;
  EXPECT_EQ(reader.begins_at(), std::nullopt);
  // The rest of a line without its beginning, and text that only looks like a time.
  for (const char* line :
       {"0.000000] ut off", "[Hardware Error]: event severity: fatal", "[-1.0] x", "[ ] x",
        "[    12.345678", "[   59.250000] br0: port 3", "[   60.000000] br0: port 4"})
    reader.Take(line);
  EXPECT_EQ(reader.begins_at(), 59.25);
  KernelLogReader journal;
  journal.Take("[    0.000000] c1 kernel: Linux version 6.1.0-37-amd64");
  EXPECT_EQ(journal.begins_at(), 0);
}

TEST(KernelLog, KeepsTheFirstLinesAndTheLast) {
  std::string log;
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&log, kBroken[0], " ", i, "\n");
  const KernelLogFindings found = ReadKernelLog(log);
  EXPECT_EQ(found.broken_count, 5000u);
  ASSERT_EQ(found.broken.size(), KernelLogFindings::kMaxLines);
  EXPECT_EQ(found.broken.front(), absl::StrCat(kBroken[0], " 0"));
  EXPECT_EQ(found.broken.back(), absl::StrCat(kBroken[0], " 4999"));
}

TEST(KernelLog, TellsOfBrokenHardware) {
  for (const char* line : kBroken) EXPECT_THAT(ReadKernelLog(line).broken, ElementsAre(line));
}

TEST(KernelLog, CountsWhatWasCorrected) {
  for (const char* line : kCorrected) {
    const KernelLogFindings found = ReadKernelLog(line);
    EXPECT_THAT(found.broken, IsEmpty());
    EXPECT_EQ(found.corrected, 1u) << line;
  }
}

TEST(KernelLog, CountsErrorsOfJobsOwnPrograms) {
  for (const char* line : kApplication) {
    const KernelLogFindings found = ReadKernelLog(line);
    EXPECT_THAT(found.broken, IsEmpty());
    EXPECT_EQ(found.application, 1u) << line;
  }
}

TEST(KernelLog, LeavesGreetingsAndDetailsAlone) {
  for (const char* line : kNothing) {
    const KernelLogFindings found = ReadKernelLog(line);
    EXPECT_THAT(found.broken, IsEmpty());
    EXPECT_EQ(found.corrected + found.application + found.unlisted_xids.size(), 0u) << line;
  }
}

TEST(KernelLog, XidsOfHardwareAreFaults) {
  for (const int xid : {46,  48,  54,  62,  64,  74,  79,  95,  109, 110, 119, 120, 136, 140,
                        143, 144, 145, 146, 147, 148, 149, 150, 154, 155, 156, 157, 158})
    EXPECT_EQ(ReadKernelLog(absl::StrCat("NVRM: Xid (PCI:0000:3b:00): ", xid, ", x")).broken.size(),
              1u)
        << xid;
}

TEST(KernelLog, XidThatIsNotListedIsNeither) {
  const KernelLogFindings found = ReadKernelLog(
      "NVRM: Xid (PCI:0000:3b:00): 999, x\nNVRM: Xid (PCI:0000:5e:00): 999, x\n"
      "NVRM: Xid (PCI:0000:3b:00): 7\n");
  EXPECT_THAT(found.broken, IsEmpty());
  EXPECT_THAT(found.unlisted_xids, ElementsAre(7, 999));
}

// What happened before a job began was not its doing.
TEST(KernelLog, LinesOfBeforeDoNotCount) {
  KernelLogReader reader(/*since_seconds=*/100);
  reader.Take("[   12.000000] NVRM: Xid (PCI:0000:3b:00): 79, before");
  reader.Take("[   99.999999] NVRM: Xid (PCI:0000:3b:00): 48, before");
  reader.Take("[  100.000001] NVRM: Xid (PCI:0000:3b:00): 31, of a program");
  reader.Take("[  100.500000] NVRM: Xid (PCI:0000:3b:00): 48, after");
  reader.Take("NVRM: Xid (PCI:0000:3b:00): 79, at an unknown time");
  EXPECT_THAT(reader.findings().broken,
              ElementsAre("[  100.500000] NVRM: Xid (PCI:0000:3b:00): 48, after",
                          "NVRM: Xid (PCI:0000:3b:00): 79, at an unknown time"));
  EXPECT_EQ(reader.findings().application, 1u);
  EXPECT_EQ(reader.begins_at(), 12);
}

TEST(KernelLog, LinesAreKeptInTheirOrder) {
  const KernelLogFindings found = ReadKernelLog(
      absl::StrCat(absl::StrJoin(kBroken, "\n"), "\n", absl::StrJoin(kCorrected, "\n"), "\n\n"));
  EXPECT_EQ(found.broken.size(), std::size(kBroken));
  EXPECT_EQ(found.broken.back(), kBroken[std::size(kBroken) - 1]);
  EXPECT_EQ(found.corrected, std::size(kCorrected));
}

}  // namespace
}  // namespace muster::burnin
