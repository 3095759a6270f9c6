#include "agent/health/log_record.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace muster::agent::health {

std::optional<LogRecord> ParseLogRecord(absl::string_view line) {
  const size_t begin = line.find(';');
  if (begin == absl::string_view::npos || line.empty() || line.front() == ' ') return std::nullopt;
  const std::vector<absl::string_view> fields = absl::StrSplit(line.substr(0, begin), ',');
  uint32_t priority = 0;
  uint64_t microseconds = 0;
  LogRecord record;
  if (fields.size() < 3 || !absl::SimpleAtoi(fields[0], &priority) ||
      !absl::SimpleAtoi(fields[1], &record.sequence) || !absl::SimpleAtoi(fields[2], &microseconds))
    return std::nullopt;
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  record.since_boot = absl::Microseconds(static_cast<int64_t>(std::min(microseconds, kMost)));
  record.text = line.substr(begin + 1);
  return record;
}

bool LogPosition::Take(uint64_t sequence) {
  if (last_.has_value()) {
    if (sequence <= *last_) return false;
    lost_ += sequence - *last_ - 1;
  }
  last_ = sequence;
  return true;
}

}  // namespace muster::agent::health
