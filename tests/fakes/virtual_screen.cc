#include "tests/fakes/virtual_screen.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::testing {
namespace {

std::string LineOf(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) absl::StrAppend(&line, cell.empty() ? " " : cell);
  absl::StripTrailingAsciiWhitespace(&line);
  return line;
}

// How many bytes a UTF-8 character has, by its first one.
size_t LengthOf(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

}  // namespace

VirtualScreen::VirtualScreen(size_t columns, size_t rows)
    : columns_(columns), rows_(rows), cells_(rows, std::vector<std::string>(columns)) {}

void VirtualScreen::LineFeed() {
  if (++row_ < rows_) return;
  gone_.push_back(LineOf(cells_.front()));
  cells_.erase(cells_.begin());
  cells_.emplace_back(columns_);
  row_ = rows_ - 1;
}

void VirtualScreen::Put(std::string character) {
  if (column_ == columns_) {  // the character after the last column wraps
    column_ = 0;
    LineFeed();
  }
  cells_[row_][column_++] = std::move(character);
}

void VirtualScreen::Obey(absl::string_view sequence) {
  const absl::string_view number = sequence.substr(2, sequence.size() - 3);
  size_t count = 0;
  if (sequence.back() == 'A' && absl::SimpleAtoi(number, &count)) {
    row_ -= std::min(row_, count);
  } else if (sequence == "\033[2K") {
    cells_[row_].assign(columns_, "");
  } else if (sequence == "\033[J") {
    std::fill(cells_[row_].begin() + static_cast<ptrdiff_t>(std::min(column_, columns_)),
              cells_[row_].end(), "");
    for (size_t below = row_ + 1; below < rows_; ++below) cells_[below].assign(columns_, "");
  } else if (error_.empty()) {
    error_ = absl::StrCat("unknown sequence ", absl::CEscape(sequence));
  }
}

bool VirtualScreen::IsWhole(absl::string_view bytes) const {
  if (bytes[0] != '\033') return bytes.size() >= LengthOf(bytes[0]);
  return bytes.size() > 2 && absl::ascii_isalpha(static_cast<unsigned char>(bytes.back()));
}

void VirtualScreen::Write(absl::string_view bytes) {
  for (const char byte : bytes) {
    rest_ += byte;
    if (!IsWhole(rest_)) continue;
    const std::string whole = std::exchange(rest_, "");
    if (whole[0] == '\033') {
      Obey(whole);
    } else if (whole == "\r") {
      column_ = 0;
    } else if (whole == "\n") {
      LineFeed();
    } else if (absl::ascii_iscntrl(static_cast<unsigned char>(whole[0]))) {
      if (error_.empty()) error_ = absl::StrCat("control character ", absl::CEscape(whole));
    } else {
      Put(whole);
    }
  }
}

std::string VirtualScreen::Text() const {
  std::vector<std::string> lines = gone_;
  for (const std::vector<std::string>& cells : cells_) lines.push_back(LineOf(cells));
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
}

}  // namespace muster::testing
