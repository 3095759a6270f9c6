#include "common/base/text/natural_order.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace muster {
namespace {

bool StartsWithDigit(absl::string_view text) {
  return !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text.front()));
}

// Takes the digits that `text` begins with; without the zeros that they begin with.
absl::string_view TakeNumber(absl::string_view& text) {
  size_t length = 0;
  while (StartsWithDigit(text.substr(length))) ++length;
  absl::string_view number = text.substr(0, length);
  text.remove_prefix(length);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

}  // namespace

bool NaturalLess(absl::string_view a, absl::string_view b) {
  absl::string_view left = a;
  absl::string_view right = b;
  while (!left.empty() && !right.empty()) {
    if (StartsWithDigit(left) && StartsWithDigit(right)) {
      const absl::string_view mine = TakeNumber(left);
      const absl::string_view other = TakeNumber(right);
      if (mine.size() != other.size()) return mine.size() < other.size();
      if (mine != other) return mine < other;
      continue;
    }
    if (left.front() != right.front())
      return static_cast<unsigned char>(left.front()) < static_cast<unsigned char>(right.front());
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  if (left.empty() != right.empty()) return left.empty();
  return a < b;
}

}  // namespace muster
