// Reads the kernel's log for hardware errors, and for lines that only look like them.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::burnin {

struct KernelLogFindings {
  // A log of months is not kept: only the first lines and the last.
  static constexpr size_t kMaxLines = 100;

  std::vector<std::string> broken;  // lines that report broken hardware, kMaxLines at most
  size_t broken_count = 0;          // all of them
  size_t corrected = 0;             // lines about errors that the hardware has corrected itself
  size_t application = 0;           // GPU errors that are the fault of a job's own program
  std::set<int> unlisted_xids;      // this version does not know whose fault they are
};

// A line of the GPUs' driver about one GPU: "[  12.345678] NVRM: Xid (PCI:0000:3b:00): 79, pid=…".
struct XidLine {
  std::optional<double> at;  // as of KernelTimeOf()
  std::string slot;          // begins the GPU's address: "0000:3b:00"
  int xid = 0;
};
std::optional<XidLine> ParseXid(absl::string_view line);

// Seconds since the boot, from the beginning of a line; nullopt: it has no time.
std::optional<double> KernelTimeOf(absl::string_view line);

// Reads a log line by line, as dmesg and `journalctl -k -o short-monotonic` print it.
class KernelLogReader {
 public:
  // Lines of an earlier time, in seconds since boot, count for nothing.
  explicit KernelLogReader(double since_seconds = 0) : since_seconds_(since_seconds) {}

  void Take(absl::string_view line);

  const KernelLogFindings& findings() const { return findings_; }
  // Seconds since boot of the first line that has a time, such as "[   12.345678] "; nullopt: none
  // has.
  const std::optional<double>& begins_at() const { return begins_at_; }

 private:
  void TakeXid(int number, absl::string_view line);

  const double since_seconds_;
  KernelLogFindings findings_;
  std::optional<double> begins_at_;
};

}  // namespace muster::burnin
