#include "common/base/text/source_error.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr size_t kMaxShown = 160;

std::optional<absl::string_view> FindLine(absl::string_view source, int line) {
  if (line < 1) return std::nullopt;
  for (int current = 1; current < line; ++current) {
    const size_t end = source.find('\n');
    if (end == absl::string_view::npos) return std::nullopt;
    source.remove_prefix(end + 1);
  }
  absl::string_view found = source.substr(0, source.find('\n'));
  if (!found.empty() && found.back() == '\r') found.remove_suffix(1);
  return found;
}

bool IsContinuationByte(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

size_t CountCharacters(absl::string_view text) {
  return text.size() - std::count_if(text.begin(), text.end(), IsContinuationByte);
}

}  // namespace

std::string RenderSourceError(absl::string_view file, int line, int column,
                              absl::string_view whole_source, absl::string_view message) {
  std::string out = absl::StrCat(file, ":", line, ":", column, ": ", message);
  const std::optional<absl::string_view> found = FindLine(whole_source, line);
  if (!found.has_value()) return out;

  const size_t caret = std::min(static_cast<size_t>(std::max(column, 1) - 1), found->size());
  size_t begin = caret > kMaxShown / 2 ? caret - kMaxShown / 2 : 0;
  if (found->size() <= kMaxShown) begin = 0;
  while (begin > 0 && IsContinuationByte((*found)[begin])) --begin;
  size_t end = std::min(found->size(), begin + kMaxShown);
  while (end < found->size() && IsContinuationByte((*found)[end])) ++end;

  std::string shown = absl::StrCat(begin > 0 ? "..." : "", found->substr(begin, end - begin),
                                   end < found->size() ? "..." : "");
  for (char& c : shown) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  const size_t indent = (begin > 0 ? 3 : 0) + CountCharacters(found->substr(begin, caret - begin));
  const std::string number = absl::StrCat(line);
  absl::StrAppend(&out, "\n  ", number, " | ", shown, "\n  ", std::string(number.size(), ' '),
                  " | ", std::string(indent, ' '), "^");
  return out;
}

}  // namespace muster
