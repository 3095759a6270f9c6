// What a machine has written to its serial console, as lines. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller::console {

struct ConsoleRow {
  uint64_t number = 0;  // counts up, from the microseconds of the first row on
  absl::Time time;      // when its last byte came
  std::string text;     // IsPlain(), never empty
};

// The last rows of a stream that anybody may have written: what moves the cursor of a terminal ends
// a row, what colors it is removed, and rows without text are left out. Numbers of rows go on
// where an earlier process has kept the text, as long as the clock is right. One thread.
class ConsoleText {
 public:
  static constexpr size_t kMostRows = 1000;
  static constexpr size_t kMostBytes = 64 << 10;  // of all rows
  static constexpr size_t kLongestRow = 500;      // bytes; a longer one is cut in two

  void Append(absl::string_view bytes, absl::Time now);
  // Ends a row that nothing was added to for a second: a prompt, or where a machine has stopped.
  void Settle(absl::Time now);

  // The last `most` rows with greater numbers than `after`, the oldest first.
  std::vector<ConsoleRow> After(uint64_t after, size_t most) const;

 private:
  void EndRow();
  void Add(absl::string_view raw);

  std::string open_;  // the row that has not ended
  absl::Time last_;   // of the last byte
  std::deque<ConsoleRow> rows_;
  size_t bytes_ = 0;   // of rows_
  uint64_t next_ = 0;  // 0: there was no row yet
};

}  // namespace muster::controller::console
