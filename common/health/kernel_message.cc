#include "common/health/kernel_message.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "common/health/kernel_line.h"

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
// The kernel also prints text that users choose, as it is: names of programs and files, mount
// options, control groups. So a row's words stand at the beginning of a message (StagesOf), where
// that text never is but for programs' names, which kernel_line.h knows.
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
    {"CPU", "temperature above threshold", kHardware, "cpu_temperature"},  // before Linux 5.5
    {"CPU", "temperature is above threshold", kHardware, "cpu_temperature"},
    {"PCIe Bus Error: severity=Correct", "", kCorrected, ""},
    {"PCIe Bus Error: severity=Uncorrect", "", kHardware, "pcie_error", kAddress},
    {"AER: ", "Uncorrect", kHardware, ""},  // its details come in a line of their own
    {"NVRM: ", "has fallen off the bus", kHardware, "gpu_xid", kAddress},
    // In a message of several lines, which names the card in its first one.
    {"NVRM: ", kCardWithoutAnswer, kHardware, "gpu_xid", kAddress},
    {"NVRM: ", "RmInitAdapter failed", kHardware, "gpu_xid", kAddress},
    // Nothing else tells of it where the kernel leaves the mount's options as they were.
    {"EXT4-fs (", "): Remounting filesystem read-only", kSoftware, "disk_readonly", kParens},
    {"XFS (", "Shutting down filesystem", kSoftware, "disk_readonly", kParens},
    {"XFS (", "): Filesystem has been shut down", kSoftware, "disk_readonly", kParens},
    {"I/O error, dev ", "", kHardware, "disk_errors", kDevice},
    {"Buffer I/O error on dev", "", kHardware, "disk_errors", kDevice},
    {"EXT4-fs (", "I/O error", kHardware, "disk_errors", kParens},
    {"XFS (", "I/O error", kHardware, "disk_errors", kParens},
    {"critical medium error, dev ", "", kHardware, "disk_errors", kDevice},
    {"critical target error, dev ", "", kHardware, "disk_errors", kDevice},
    {"protection error, dev ", "", kHardware, "disk_errors", kDevice},
    {"BUG: soft lockup", "", kHardware, "kernel_lockup"},
    {"Watchdog detected hard LOCKUP", "", kHardware, "kernel_lockup"},
    // "CPU 3 self-detected" on POWER, "CPU3: Watchdog detected" on newer kernels.
    {"CPU", "hard LOCKUP", kHardware, "kernel_lockup"},
    {"rcu: INFO: ", "detected stall", kSoftware, "kernel_lockup"},
    {"rcu: INFO: ", "detected expedited stall", kSoftware, "kernel_lockup"},
    {"EXT4-fs error (device ", "", kSoftware, "disk_errors", kDevice},
    {"XFS (", "Corruption detected", kSoftware, "disk_errors", kParens},
    {"BUG: unable to handle", "", kSoftware, "kernel_oops"},
    {"BUG: kernel NULL pointer dereference", "", kSoftware, "kernel_oops"},
    {"Unable to handle kernel", "", kSoftware, "kernel_oops"},
    {"invalid opcode: 0000 [#", "", kSoftware, "kernel_oops"},
    {"Internal error: Oops", "", kSoftware, "kernel_oops"},
    {"general protection fault, ", "", kSoftware, "kernel_oops"},
    {"general protection fault: ", "[#", kSoftware, "kernel_oops"},
    {"divide error: ", "[#", kSoftware, "kernel_oops"},
    {"stack segment: ", "[#", kSoftware, "kernel_oops"},
};

constexpr absl::string_view kOfDisks[] = {"disk_errors", "disk_readonly"};
// Block devices that are no disks: empty or virtual drives, images, and disks of other hosts. Jobs
// can cause errors on them. The kernel puts a number behind these names.
constexpr absl::string_view kNoDisks[] = {"fd", "loop", "nbd", "ram", "sr", "zram"};

bool IsNoDisk(absl::string_view device) {
  return std::any_of(std::begin(kNoDisks), std::end(kNoDisks), [device](absl::string_view name) {
    return device.size() > name.size() && absl::StartsWith(device, name) &&
           absl::ascii_isdigit(static_cast<unsigned char>(device[name.size()]));
  });
}

bool IsOfDisks(absl::string_view condition) {
  return std::find(std::begin(kOfDisks), std::end(kOfDisks), condition) != std::end(kOfDisks);
}

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

// `words`: the row's and what follows them.
std::string ObjectOf(const KernelMessage& row, absl::string_view message, absl::string_view words) {
  switch (row.object) {
    case kNone:
      return "";
    case kDevice: {
      constexpr absl::string_view kNames[] = {"dev ", "device "};
      for (const absl::string_view name : kNames) {
        const size_t found = words.find(name);
        if (found != absl::string_view::npos) return WordAt(words.substr(found + name.size()));
      }
      return "";
    }
    case kParens: {
      const size_t open = words.find('(');
      return open == absl::string_view::npos ? "" : WordAt(words.substr(open + 1));
    }
    case kAddress:
      return AddressBefore(message);
  }
  return "";
}

// Names that drivers write before their words.
constexpr absl::string_view kDrivers[] = {
    "mce: ",  "watchdog: ", "NMI watchdog: ", "blk_update_request: ", "print_req_error: ",
    "Oops: ", "AER: "};

// "{1}", the number of an error that firmware reports.
bool ConsumeNumber(absl::string_view& message) {
  absl::string_view rest = message;
  if (!absl::ConsumePrefix(&rest, "{")) return false;
  rest.remove_prefix(std::min(rest.find_first_not_of("0123456789"), rest.size()));
  if (!absl::ConsumePrefix(&rest, "}")) return false;
  message = rest;
  return true;
}

// "pcieport 0000:00:1c.0: ".
bool ConsumeDevice(absl::string_view& message) {
  const size_t name = message.find(' ');
  const size_t end = message.find(": ");
  if (name == absl::string_view::npos || end == absl::string_view::npos || end < name) return false;
  const absl::string_view address = message.substr(name + 1, end - name - 1);
  if (!IsPciAddress(address) || address.size() != WordAt(address).size()) return false;
  message.remove_prefix(end + 2);
  return true;
}

// Where a row's words may stand: at the beginning of the message, and behind each name of a driver,
// a device or an error there.
std::vector<absl::string_view> StagesOf(absl::string_view message) {
  constexpr size_t kMost = 4;
  std::vector<absl::string_view> stages;
  if (BeginsWithUsersText(message)) return stages;
  stages.push_back(message);
  while (stages.size() < kMost) {
    absl::string_view rest = stages.back();
    const bool is_driver =
        std::any_of(std::begin(kDrivers), std::end(kDrivers),
                    [&rest](absl::string_view name) { return absl::ConsumePrefix(&rest, name); });
    if (!is_driver && !ConsumeNumber(rest) && !ConsumeDevice(rest)) break;
    stages.push_back(rest);
  }
  return stages;
}

// Reads "[Hardware Error]: CPU 2: Machine Check: 0 Bank 5: 8c00004000010091", which the kernel
// prints for every error that nothing else decodes: bit 61 of the bank's status is set when the
// error was not corrected (Intel 64 and IA-32 Architectures SDM, volume 3B, IA32_MCi_STATUS; the
// same for AMD).
std::optional<MessageMeaning> ReadBank(absl::string_view words) {
  constexpr absl::string_view kBank = " Bank ";
  constexpr uint64_t kUncorrected = uint64_t{1} << 61;
  if (!absl::StartsWith(words, "[Hardware Error]") || !absl::StrContains(words, "Machine Check"))
    return std::nullopt;
  size_t at = words.find(kBank);
  if (at == absl::string_view::npos) return std::nullopt;
  at = words.find(": ", at);
  if (at == absl::string_view::npos) return std::nullopt;
  uint64_t status = 0;
  if (!absl::SimpleHexAtoi(absl::StripAsciiWhitespace(words.substr(at + 2)), &status))
    return std::nullopt;
  if ((status & kUncorrected) == 0) return MessageMeaning{.cause = kCorrected, .condition = ""};
  return MessageMeaning{.cause = kHardware, .condition = "machine_check"};
}

std::optional<MessageMeaning> ReadRow(const KernelMessage& row, absl::string_view message,
                                      absl::string_view words) {
  if (!absl::StartsWith(words, row.words) ||
      !absl::StrContains(words.substr(row.words.size()), row.then))
    return std::nullopt;
  MessageMeaning meaning{
      .cause = row.cause, .condition = row.condition, .object = ObjectOf(row, message, words)};
  if (IsOfDisks(row.condition) && IsNoDisk(meaning.object)) {
    meaning.cause = kSoftware;
    meaning.condition = "";
  }
  return meaning;
}

}  // namespace

absl::Span<const KernelMessage> KernelMessages() { return kMessages; }

std::optional<XidMessage> ParseXidMessage(absl::string_view line) {
  constexpr absl::string_view kXid = "NVRM: Xid (";
  constexpr absl::string_view kEnd = "): ";
  absl::string_view rest = KernelMessageOf(line);
  if (BeginsWithUsersText(rest) || !absl::ConsumePrefix(&rest, kXid)) return std::nullopt;
  const size_t end = rest.find(kEnd);
  if (end == absl::string_view::npos) return std::nullopt;
  absl::string_view slot = rest.substr(0, end);
  rest.remove_prefix(end + kEnd.size());
  XidMessage parsed;
  if (!absl::SimpleAtoi(rest.substr(0, rest.find_first_not_of("0123456789")), &parsed.xid))
    return std::nullopt;
  absl::ConsumePrefix(&slot, "PCI:");
  parsed.slot = absl::AsciiStrToLower(slot.substr(0, slot.find(' ')));
  return parsed;
}

std::optional<MessageMeaning> ReadKernelMessage(absl::string_view line) {
  const absl::string_view message = KernelMessageOf(line);
  const std::vector<absl::string_view> stages = StagesOf(message);
  for (const absl::string_view words : stages) {
    if (std::optional<MessageMeaning> bank = ReadBank(words)) return bank;
  }
  for (const KernelMessage& row : kMessages) {
    for (const absl::string_view words : stages) {
      if (std::optional<MessageMeaning> meaning = ReadRow(row, message, words)) return meaning;
    }
  }
  return std::nullopt;
}

}  // namespace muster::health
