#include "agent/burnin/system/kernel_log.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace muster::burnin {
namespace {

enum class Kind { kBroken, kCorrected, kApplication };

// A line that contains `words` and, after them, `then`. Both are words of the kernel's own
// messages: from drivers/edac/edac_mc.c, drivers/firmware/efi/cper.c, drivers/edac/mce_amd.c,
// arch/x86/kernel/cpu/mce/, drivers/pci/pcie/aer.c (both of its wordings: Corrected, Correctable),
// block/blk-core.c, kernel/watchdog*.c and the GPUs' driver. Start-up messages and details of an
// error, which contain some of these words, match no row.
struct MessageRow {
  absl::string_view words;
  absl::string_view then;
  Kind kind;
};
constexpr MessageRow kMessages[] = {
    {"EDAC MC", " CE ", Kind::kCorrected},
    {"EDAC MC", " UE ", Kind::kBroken},
    {"[Hardware Error]", "event severity: corrected", Kind::kCorrected},
    {"[Hardware Error]", "event severity: recoverable", Kind::kBroken},
    {"[Hardware Error]", "event severity: fatal", Kind::kBroken},
    {"[Hardware Error]", "Corrected error, no action required", Kind::kCorrected},
    // Memory that can no longer be corrected, found before anybody read it.
    {"[Hardware Error]", "Deferred error", Kind::kBroken},
    {"[Hardware Error]", "Uncorrected, software", Kind::kBroken},
    {"[Hardware Error]", "System Fatal error", Kind::kBroken},
    {"[Hardware Error]", "Machine check: ", Kind::kBroken},
    {"Uncorrected hardware memory error", "", Kind::kBroken},
    {"temperature above threshold", "", Kind::kBroken},
    {"PCIe Bus Error: severity=Correct", "", Kind::kCorrected},
    {"PCIe Bus Error: severity=Uncorrect", "", Kind::kBroken},
    {"AER: ", "Uncorrect", Kind::kBroken},
    {"NVRM: ", "has fallen off the bus", Kind::kBroken},
    {"NVRM: ", "RmInitAdapter failed", Kind::kBroken},
    {"I/O error", "", Kind::kBroken},
    {"soft lockup", "", Kind::kBroken},
    {"hard LOCKUP", "", Kind::kBroken},
};

// The driver's error numbers, by NVIDIA's catalogue of Xids and the action that it asks for. The
// consequences of memory errors, a row to be replaced or a GPU to be reset, are read by
// gpu-inventory from the GPU itself, where they end with the repair.
struct XidRow {
  int first, last;
  Kind kind;
};
constexpr XidRow kXids[] = {
    {13, 13, Kind::kApplication},    // exception of a kernel: illegal address, instruction
    {31, 32, Kind::kApplication},    // page fault; corrupted push buffer
    {43, 43, Kind::kApplication},    // reset of a channel after an error of a program
    {45, 45, Kind::kApplication},    // cleanup after a program that ended
    {46, 46, Kind::kBroken},         // the GPU stopped
    {48, 48, Kind::kBroken},         // uncorrectable memory error
    {54, 54, Kind::kBroken},         // auxiliary power is not connected
    {62, 62, Kind::kBroken},         // microcontroller halted
    {63, 63, Kind::kCorrected},      // a row or page is to be replaced
    {64, 64, Kind::kBroken},         // the replacement failed
    {74, 74, Kind::kBroken},         // NVLink
    {79, 79, Kind::kBroken},         // fell off the bus
    {92, 92, Kind::kCorrected},      // high rate of corrected memory errors
    {94, 94, Kind::kApplication},    // uncorrectable memory error of a single program
    {95, 95, Kind::kBroken},         // of more than one
    {109, 110, Kind::kBroken},       // context switch timed out; security fault
    {119, 120, Kind::kBroken},       // GPU's system processor: timeout, error
    {121, 121, Kind::kCorrected},    // corrected error of the link between chips
    {136, 136, Kind::kBroken},       // these: reset the GPU
    {137, 137, Kind::kApplication},  // forbidden access over NVLink
    {140, 140, Kind::kBroken},
    {143, 150, Kind::kBroken},  // initialization failed; NVLink of the fifth generation
    {154, 158, Kind::kBroken},  // asks for a reset, a reboot or support
};

// Parses "[Hardware Error]: CPU 2: Machine Check: 0 Bank 5: 8c00004000010091", which the kernel
// prints for every error that nothing else decodes: bit 61 of the bank's status is set when the
// error was not corrected (Intel 64 and IA-32 Architectures SDM, volume 3B, IA32_MCi_STATUS; the
// same for AMD).
std::optional<Kind> KindOfBank(absl::string_view line) {
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
  return (status & kUncorrected) != 0 ? Kind::kBroken : Kind::kCorrected;
}

bool Matches(const MessageRow& row, absl::string_view line) {
  const size_t at = line.find(row.words);
  return at != absl::string_view::npos &&
         absl::StrContains(line.substr(at + row.words.size()), row.then);
}

std::optional<Kind> KindOf(absl::string_view line) {
  if (const std::optional<Kind> kind = KindOfBank(line)) return kind;
  const auto row =
      std::find_if(std::begin(kMessages), std::end(kMessages),
                   [line](const MessageRow& message) { return Matches(message, line); });
  return row == std::end(kMessages) ? std::nullopt : std::optional<Kind>(row->kind);
}

void AddBroken(absl::string_view line, KernelLogFindings& findings) {
  ++findings.broken_count;
  if (findings.broken.size() < KernelLogFindings::kMaxLines) {
    findings.broken.emplace_back(line);
  } else {
    findings.broken.back() = std::string(line);
  }
}

void Add(Kind kind, absl::string_view line, KernelLogFindings& findings) {
  if (kind == Kind::kBroken) AddBroken(line, findings);
  if (kind == Kind::kCorrected) ++findings.corrected;
  if (kind == Kind::kApplication) ++findings.application;
}

}  // namespace

std::optional<double> KernelTimeOf(absl::string_view line) {
  double seconds = 0;
  const size_t end = line.find(']');
  if (!absl::StartsWith(line, "[") || end == absl::string_view::npos ||
      !absl::SimpleAtod(absl::StripAsciiWhitespace(line.substr(1, end - 1)), &seconds) ||
      !(seconds >= 0))
    return std::nullopt;
  return seconds;
}

std::optional<XidLine> ParseXid(absl::string_view line) {
  constexpr absl::string_view kXid = "NVRM: Xid (";
  constexpr absl::string_view kEnd = "): ";
  const size_t begin = line.find(kXid);
  if (begin == absl::string_view::npos) return std::nullopt;
  const size_t end = line.find(kEnd, begin + kXid.size());
  if (end == absl::string_view::npos) return std::nullopt;
  const absl::string_view rest = line.substr(end + kEnd.size());
  XidLine parsed = {.at = KernelTimeOf(line)};
  if (!absl::SimpleAtoi(rest.substr(0, rest.find_first_not_of("0123456789")), &parsed.xid))
    return std::nullopt;
  absl::string_view slot = line.substr(begin + kXid.size(), end - begin - kXid.size());
  absl::ConsumePrefix(&slot, "PCI:");
  parsed.slot = absl::AsciiStrToLower(slot);
  return parsed;
}

void KernelLogReader::Take(absl::string_view line) {
  const std::optional<double> time = KernelTimeOf(line);
  if (!begins_at_.has_value()) begins_at_ = time;
  if (time.has_value() && *time < since_seconds_) return;
  if (const std::optional<XidLine> parsed = ParseXid(line)) {
    const int xid = parsed->xid;
    const auto row = std::find_if(std::begin(kXids), std::end(kXids), [xid](const XidRow& numbers) {
      return numbers.first <= xid && xid <= numbers.last;
    });
    if (row != std::end(kXids)) {
      Add(row->kind, line, findings_);
    } else {
      findings_.unlisted_xids.insert(xid);
    }
  } else if (const std::optional<Kind> kind = KindOf(line)) {
    Add(*kind, line, findings_);
  }
}

}  // namespace muster::burnin
