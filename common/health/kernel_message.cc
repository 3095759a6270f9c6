#include "common/health/kernel_message.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace muster::health {
namespace {

using enum Cause;
using enum MessageObject;

constexpr size_t kLongestObject = 64;

// From mm/oom_kill.c, kernel/hung_task.c, drivers/edac/edac_mc.c, drivers/firmware/efi/cper.c,
// drivers/edac/mce_amd.c, arch/x86/kernel/cpu/mce/, drivers/pci/pcie/aer.c (both of its wordings:
// Corrected, Correctable), block/blk-core.c, fs/ext4/super.c, fs/xfs/, kernel/watchdog*.c,
// kernel/rcu/tree_stall.h, arch/*/kernel/traps.c and the GPUs' driver. Start-up messages and
// details of an error, which contain some of these words, match no row. The first row that matches
// counts.
//
// Users choose the names of their programs, up to 15 characters, and the kernel logs them when the
// programs crash. So where a condition drains the node, a row has more characters than that.
constexpr KernelMessage kMessages[] = {
    {"Out of memory: Killed process", "", kSoftware, "oom_kill"},
    {"Memory cgroup out of memory: Killed process", "", kSoftware, "oom_kill"},
    {"INFO: task ", "blocked for more than", kSoftware, "hung_task"},
    {"EDAC MC", " CE ", kCorrected, ""},
    {"EDAC MC", " UE ", kHardware, ""},  // counted in /sys, where memory_ecc looks
    {"[Hardware Error]", "event severity: corrected", kCorrected, ""},
    {"[Hardware Error]", "event severity: recoverable", kHardware, "machine_check"},
    {"[Hardware Error]", "event severity: fatal", kHardware, "machine_check"},
    {"[Hardware Error]", "Corrected error, no action required", kCorrected, ""},
    // Memory that can no longer be corrected, found before anybody read it.
    {"[Hardware Error]", "Deferred error", kHardware, "machine_check"},
    {"[Hardware Error]", "Uncorrected, software", kHardware, "machine_check"},
    {"[Hardware Error]", "System Fatal error", kHardware, "machine_check"},
    {"[Hardware Error]", "Machine check: ", kHardware, "machine_check"},
    {"Uncorrected hardware memory error", "", kHardware, "machine_check"},
    {"temperature above threshold", "", kHardware, "cpu_temperature"},
    {"PCIe Bus Error: severity=Correct", "", kCorrected, ""},
    {"PCIe Bus Error: severity=Uncorrect", "", kHardware, "pcie_error", kAddress},
    {"AER: ", "Uncorrect", kHardware, ""},  // its details come in a line of their own
    {"NVRM: ", "has fallen off the bus", kHardware, "gpu_xid", kAddress},
    {"NVRM: ", "RmInitAdapter failed", kHardware, "gpu_xid", kAddress},
    {"I/O error", "", kHardware, "disk_errors", kDevice},
    {"BUG: soft lockup", "", kHardware, "kernel_lockup"},
    {"soft lockup", "", kHardware, ""},
    {"Watchdog detected hard LOCKUP", "", kHardware, "kernel_lockup"},
    {"hard LOCKUP", "", kHardware, ""},
    {"rcu: INFO: ", "detected stall", kSoftware, "kernel_lockup"},
    {"EXT4-fs error (device ", "", kSoftware, "disk_errors", kDevice},
    {"XFS (", "Corruption detected", kSoftware, "disk_errors", kParens},
    {"XFS (", "Shutting down filesystem", kSoftware, "disk_errors", kParens},
    {"BUG: unable to handle", "", kSoftware, "kernel_oops"},
    {"BUG: kernel NULL pointer dereference", "", kSoftware, "kernel_oops"},
    {"Unable to handle kernel", "", kSoftware, "kernel_oops"},
    {"invalid opcode: 0000 [#", "", kSoftware, "kernel_oops"},
    {"Internal error: Oops", "", kSoftware, "kernel_oops"},
    {"general protection fault, ", "", kSoftware, "kernel_oops"},
};

bool IsObjectLetter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == ':' ||
         c == '-';
}

std::string WordAt(absl::string_view text) {
  size_t length = 0;
  while (length < text.size() && length < kLongestObject && IsObjectLetter(text[length])) ++length;
  while (length > 0 && (text[length - 1] == ':' || text[length - 1] == '.')) --length;
  return std::string(text.substr(0, length));
}

bool IsPciAddress(absl::string_view word) {
  constexpr absl::string_view kShape = "hhhh:hh:hh";
  if (word.size() < kShape.size()) return false;
  for (size_t i = 0; i < kShape.size(); ++i) {
    const auto c = static_cast<unsigned char>(word[i]);
    if (kShape[i] == ':' ? c != ':' : !absl::ascii_isxdigit(c)) return false;
  }
  return true;
}

std::string AddressBefore(absl::string_view line) {
  std::string address;
  for (size_t i = 0; i < line.size(); ++i) {
    if (i > 0 && IsObjectLetter(line[i - 1])) continue;
    absl::string_view word = line.substr(i);
    absl::ConsumePrefix(&word, "PCI:");
    if (IsPciAddress(word)) address = absl::AsciiStrToLower(WordAt(word));
  }
  return address;
}

std::string ObjectOf(const KernelMessage& row, absl::string_view line, size_t at) {
  switch (row.object) {
    case kNone:
      return "";
    case kDevice: {
      constexpr absl::string_view kNames[] = {"dev ", "device "};
      for (const absl::string_view name : kNames) {
        const size_t found = line.find(name, at);
        if (found != absl::string_view::npos) return WordAt(line.substr(found + name.size()));
      }
      return "";
    }
    case kParens: {
      const size_t open = line.find('(', at);
      return open == absl::string_view::npos ? "" : WordAt(line.substr(open + 1));
    }
    case kAddress:
      return AddressBefore(line);
  }
  return "";
}

// Parses "[Hardware Error]: CPU 2: Machine Check: 0 Bank 5: 8c00004000010091", which the kernel
// prints for every error that nothing else decodes: bit 61 of the bank's status is set when the
// error was not corrected (Intel 64 and IA-32 Architectures SDM, volume 3B, IA32_MCi_STATUS; the
// same for AMD).
std::optional<MessageMeaning> ReadBank(absl::string_view line) {
  constexpr absl::string_view kBank = " Bank ";
  constexpr uint64_t kUncorrected = uint64_t{1} << 61;
  if (!absl::StrContains(line, "Machine Check")) return std::nullopt;
  size_t at = line.find(kBank);
  if (at == absl::string_view::npos) return std::nullopt;
  at = line.find(": ", at);
  if (at == absl::string_view::npos) return std::nullopt;
  uint64_t status = 0;
  if (!absl::SimpleHexAtoi(absl::StripAsciiWhitespace(line.substr(at + 2)), &status))
    return std::nullopt;
  if ((status & kUncorrected) == 0) return MessageMeaning{.cause = kCorrected, .condition = ""};
  return MessageMeaning{.cause = kHardware, .condition = "machine_check"};
}

}  // namespace

absl::Span<const KernelMessage> KernelMessages() { return kMessages; }

std::optional<XidMessage> ParseXidMessage(absl::string_view line) {
  constexpr absl::string_view kXid = "NVRM: Xid (";
  constexpr absl::string_view kEnd = "): ";
  const size_t begin = line.find(kXid);
  if (begin == absl::string_view::npos) return std::nullopt;
  const size_t end = line.find(kEnd, begin + kXid.size());
  if (end == absl::string_view::npos) return std::nullopt;
  const absl::string_view rest = line.substr(end + kEnd.size());
  XidMessage parsed;
  if (!absl::SimpleAtoi(rest.substr(0, rest.find_first_not_of("0123456789")), &parsed.xid))
    return std::nullopt;
  absl::string_view slot = line.substr(begin + kXid.size(), end - begin - kXid.size());
  absl::ConsumePrefix(&slot, "PCI:");
  parsed.slot = absl::AsciiStrToLower(slot);
  return parsed;
}

std::optional<MessageMeaning> ReadKernelMessage(absl::string_view line) {
  if (std::optional<MessageMeaning> bank = ReadBank(line)) return bank;
  for (const KernelMessage& row : kMessages) {
    const size_t at = line.find(row.words);
    if (at == absl::string_view::npos) continue;
    if (!absl::StrContains(line.substr(at + row.words.size()), row.then)) continue;
    return MessageMeaning{
        .cause = row.cause, .condition = row.condition, .object = ObjectOf(row, line, at)};
  }
  return std::nullopt;
}

}  // namespace muster::health
