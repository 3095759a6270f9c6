#include "controller/stack/version.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::controller::stack {
namespace {

// Takes the number that `text` begins with, and the dot behind it. Numbers of more than 15 digits
// are equal: no version has them.
uint64_t TakeNumber(absl::string_view& text) {
  uint64_t number = 0;
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[digits]))) {
    if (digits < 15) number = number * 10 + static_cast<uint64_t>(text[digits] - '0');
    ++digits;
  }
  const bool dot = digits > 0 && digits < text.size() && text[digits] == '.';
  text = dot ? text.substr(digits + 1) : absl::string_view();
  return number;
}

bool IsVersionCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(".+-~:_", c);
}

}  // namespace

int CompareVersions(absl::string_view a, absl::string_view b) {
  while (!a.empty() || !b.empty()) {
    const uint64_t first = TakeNumber(a);
    const uint64_t second = TakeNumber(b);
    if (first != second) return first < second ? -1 : 1;
  }
  return 0;
}

bool IsOfLine(absl::string_view version, absl::string_view line) {
  if (line.empty() || !absl::StartsWith(version, line)) return false;
  return version.size() == line.size() ||
         !absl::ascii_isalnum(static_cast<unsigned char>(version[line.size()]));
}

bool IsVersion(absl::string_view text) {
  return !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), IsVersionCharacter);
}

bool VersionRange::Contains(absl::string_view version) const {
  return CompareVersions(version, from) >= 0 && CompareVersions(version, below) < 0;
}

bool VersionRange::Contains(const VersionRange& other) const {
  return CompareVersions(other.from, from) >= 0 && CompareVersions(other.below, below) <= 0;
}

std::string VersionRange::ToString() const { return absl::StrCat(from, " to below ", below); }

}  // namespace muster::controller::stack
