// Processing of the bytes that a program prints.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/sys/process/process.h"

namespace muster::sys {

// Keeps the last bytes of a text. Not thread-safe.
class Tail {
 public:
  explicit Tail(size_t max_bytes) : max_bytes_(max_bytes) {}
  void Append(absl::string_view text);
  // The kept bytes, starting at the beginning of a line if some were lost.
  std::string Take();

 private:
  const size_t max_bytes_;
  bool cut_ = false;
  std::string text_;
};

// Cuts a stream into lines. A carriage return ends a line too: progress bars use it. Not
// thread-safe.
class LineSplitter {
 public:
  // A "line" without an end is handed out in pieces of `max_line` bytes or slightly more.
  explicit LineSplitter(LineCallback on_line, size_t max_line = 8192)
      : on_line_(std::move(on_line)), max_line_(max_line) {}
  void Append(absl::string_view text);
  // The last line, if it had no newline.
  void Finish();

 private:
  const LineCallback on_line_;
  const size_t max_line_;
  std::string rest_;
  size_t searched_ = 0;  // bytes of rest_ without an end of line
};

}  // namespace muster::sys
