#include "agent/sys/dnf/rpm_version.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace muster::agent {
namespace {

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsLetter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }
// Everything else only separates.
bool Counts(char c) { return IsDigit(c) || IsLetter(c) || c == '~' || c == '^'; }

int Sign(int value) { return (value > 0) - (value < 0); }

// Takes the digits, or the letters, from the front of `text`.
absl::string_view TakeSegment(absl::string_view& text, bool digits) {
  size_t end = 0;
  while (end < text.size() && (digits ? IsDigit(text[end]) : IsLetter(text[end]))) ++end;
  const absl::string_view segment = text.substr(0, end);
  text.remove_prefix(end);
  return segment;
}

int CompareNumbers(absl::string_view a, absl::string_view b) {
  while (absl::ConsumePrefix(&a, "0")) {
  }
  while (absl::ConsumePrefix(&b, "0")) {
  }
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return Sign(a.compare(b));
}

// One of the three parts: segments of digits or letters, "~" before everything, "^" after the end.
int ComparePart(absl::string_view a, absl::string_view b) {
  while (true) {
    while (!a.empty() && !Counts(a.front())) a.remove_prefix(1);
    while (!b.empty() && !Counts(b.front())) b.remove_prefix(1);
    const char first_a = a.empty() ? '\0' : a.front(), first_b = b.empty() ? '\0' : b.front();
    if (first_a == '~' || first_b == '~') {
      if (first_a != first_b) return first_a == '~' ? -1 : 1;
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    if (first_a == '^' || first_b == '^') {
      if (first_a == '^' && first_b == '^') {
        a.remove_prefix(1);
        b.remove_prefix(1);
        continue;
      }
      // Newer than the end of the other, older than anything else.
      if (first_a == '^') return b.empty() ? 1 : -1;
      return a.empty() ? -1 : 1;
    }
    if (a.empty() || b.empty()) return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
    const bool digits = IsDigit(first_a);
    if (digits != IsDigit(first_b)) return digits ? 1 : -1;
    const absl::string_view segment_a = TakeSegment(a, digits);
    const absl::string_view segment_b = TakeSegment(b, digits);
    const int order =
        digits ? CompareNumbers(segment_a, segment_b) : Sign(segment_a.compare(segment_b));
    if (order != 0) return order;
  }
}

struct Parts {
  absl::string_view epoch = "0", version, release;
};

Parts Split(absl::string_view text) {
  Parts parts;
  if (const size_t colon = text.find(':'); colon != absl::string_view::npos) {
    if (colon > 0) parts.epoch = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const size_t dash = text.find('-');
  parts.version = text.substr(0, dash);
  if (dash != absl::string_view::npos) parts.release = text.substr(dash + 1);
  return parts;
}

}  // namespace

int CompareRpmVersions(absl::string_view a, absl::string_view b) {
  const Parts left = Split(a), right = Split(b);
  if (const int order = ComparePart(left.epoch, right.epoch); order != 0) return order;
  if (const int order = ComparePart(left.version, right.version); order != 0) return order;
  if (left.release.empty() || right.release.empty()) return 0;
  return ComparePart(left.release, right.release);
}

absl::string_view WithoutEpoch(absl::string_view version) {
  const size_t colon = version.find(':');
  return colon == absl::string_view::npos ? version : version.substr(colon + 1);
}

}  // namespace muster::agent
