#include "common/sys/process/process_output.h"

#include <algorithm>
#include <utility>

namespace muster::sys {

void Tail::Append(absl::string_view text) {
  text_.append(text.data(), text.size());
  // Cut only at twice the size, so that each byte is moved once on average.
  if (text_.size() <= 2 * max_bytes_) return;
  text_.erase(0, text_.size() - max_bytes_);
  cut_ = true;
}

std::string Tail::Take() {
  if (text_.size() > max_bytes_) {
    text_.erase(0, text_.size() - max_bytes_);
    cut_ = true;
  }
  if (cut_) {
    const size_t newline = text_.find('\n');
    if (newline != std::string::npos && newline + 1 < text_.size()) text_.erase(0, newline + 1);
  }
  return std::move(text_);
}

void LineSplitter::Append(absl::string_view text) {
  if (!on_line_) return;
  rest_.append(text.data(), text.size());
  size_t begin = 0;
  while (true) {
    const size_t end = rest_.find_first_of("\r\n", std::max(begin, searched_));
    if (end == std::string::npos) break;
    if (end > begin) on_line_(absl::string_view(rest_).substr(begin, end - begin));
    begin = end + 1;
  }
  rest_.erase(0, begin);
  searched_ = rest_.size();
  if (rest_.size() >= max_line_) Finish();
}

void LineSplitter::Finish() {
  if (!rest_.empty() && on_line_) on_line_(rest_);
  rest_.clear();
  searched_ = 0;
}

}  // namespace muster::sys
