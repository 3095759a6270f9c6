#include "controller/console/console_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/base/text/plain_text.h"

namespace muster::controller::console {
namespace {

constexpr absl::Duration kSettled = absl::Seconds(1);

// The final characters of the control sequences (ECMA-48, CSI) after which text stands elsewhere:
// cursor up, down, next and previous line, position, and erased displays.
constexpr absl::string_view kMoves = "ABEFHJdf";

// The end of the first sequence that moves the cursor; npos: there is none.
size_t FindMove(absl::string_view raw) {
  for (size_t i = 0; i + 1 < raw.size(); ++i) {
    if (raw[i] != '\x1b' || raw[i + 1] != '[') continue;
    size_t end = i + 2;
    while (end < raw.size() && raw[end] >= 0x20 && raw[end] <= 0x3f) ++end;
    if (end < raw.size() && absl::StrContains(kMoves, raw[end])) return end + 1;
  }
  return absl::string_view::npos;
}

}  // namespace

void ConsoleText::Append(absl::string_view bytes, absl::Time now) {
  Settle(now);
  for (const char c : bytes) {
    last_ = now;
    if (c == '\n' || c == '\r') {
      EndRow();
    } else if (c != '\0') {
      open_ += c;
      if (open_.size() >= kLongestRow) EndRow();
    }
  }
}

void ConsoleText::Settle(absl::Time now) {
  if (!open_.empty() && now - last_ >= kSettled) EndRow();
}

void ConsoleText::EndRow() {
  const std::string raw = std::exchange(open_, {});
  absl::string_view rest = raw;
  while (!rest.empty()) {
    const size_t end = std::min(FindMove(rest), rest.size());
    Add(rest.substr(0, end));
    rest.remove_prefix(end);
  }
}

void ConsoleText::Add(absl::string_view raw) {
  std::string text = PlainText(raw, Lines::kOne);
  absl::StripTrailingAsciiWhitespace(&text);
  if (text.empty()) return;
  if (next_ == 0) next_ = static_cast<uint64_t>(std::max<int64_t>(absl::ToUnixMicros(last_), 1));
  bytes_ += text.size();
  rows_.push_back({next_++, last_, std::move(text)});
  while (rows_.size() > kMostRows || bytes_ > kMostBytes) {
    bytes_ -= rows_.front().text.size();
    rows_.pop_front();
  }
}

std::vector<ConsoleRow> ConsoleText::After(uint64_t after, size_t most) const {
  std::vector<ConsoleRow> rows;
  size_t first = rows_.size();
  while (first > 0 && rows.size() + (rows_.size() - first) < most &&
         rows_[first - 1].number > after)
    --first;
  rows.assign(rows_.begin() + static_cast<std::ptrdiff_t>(first), rows_.end());
  return rows;
}

}  // namespace muster::controller::console
