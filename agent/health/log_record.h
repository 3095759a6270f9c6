// Records of the kernel's log, as /dev/kmsg hands them out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::agent::health {

// Documentation/ABI/testing/dev-kmsg: "6,339,5140900,-;NET: Registered protocol family 10".
struct LogRecord {
  uint64_t sequence = 0;
  absl::Duration since_boot;
  absl::string_view text;  // a part of the parsed line
};

// nullopt: not a record. Lines that continue one begin with a blank, and are none.
std::optional<LogRecord> ParseLogRecord(absl::string_view line);

// Follows the numbers of the records: what was read before is skipped, what is missing is counted.
// Pure.
class LogPosition {
 public:
  LogPosition() = default;
  explicit LogPosition(std::optional<uint64_t> last) : last_(last) {}

  // False: it was read before, perhaps by the agent before this one.
  bool Take(uint64_t sequence);

  // Records that the kernel dropped before they could be read, since the first one that was.
  uint64_t lost() const { return lost_; }

 private:
  std::optional<uint64_t> last_;
  uint64_t lost_ = 0;
};

}  // namespace muster::agent::health
