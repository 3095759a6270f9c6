#include "cli/render/shorten.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"

namespace muster::cli {
namespace {

constexpr char kCutMark[] = "…";

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The offset of character `count` of the text, or its end if it has fewer.
size_t OffsetOf(absl::string_view text, size_t count) {
  size_t seen = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsContinuation(text[i])) continue;
    if (seen++ == count) return i;
  }
  return text.size();
}

// The start of the word around `place` if it has a digit there; `place` otherwise, or when no word
// precedes it.
size_t BeforeNumber(absl::string_view text, size_t place) {
  if (place == 0 || text[place] == ' ' || text[place - 1] == ' ') return place;
  const size_t blank = text.rfind(' ', place);
  if (blank == absl::string_view::npos) return place;
  const absl::string_view word = text.substr(blank + 1, text.find(' ', place) - blank - 1);
  return std::any_of(word.begin(), word.end(), absl::ascii_isdigit) ? blank : place;
}

std::string OneLine(absl::string_view text) {
  std::string line = Tame(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

}  // namespace

std::string Shorten(absl::string_view text, size_t columns) {
  const std::string line = OneLine(text);
  if (DisplayWidth(line) <= columns) return line;
  if (columns == 0) return "";
  const size_t end = BeforeNumber(line, OffsetOf(line, columns - 1));
  return absl::StrCat(absl::StripTrailingAsciiWhitespace(line.substr(0, end)), kCutMark);
}

std::string ShortenFront(absl::string_view text, size_t columns) {
  const std::string line = OneLine(text);
  const size_t width = DisplayWidth(line);
  if (width <= columns) return line;
  if (columns == 0) return "";
  return absl::StrCat(kCutMark, line.substr(OffsetOf(line, width - columns + 1)));
}

}  // namespace muster::cli
