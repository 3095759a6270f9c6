#include "common/base/text/hostlist.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"

namespace muster {
namespace {

constexpr size_t kMaxDigits = 12;
// What follows a bracket is appended to thousands of names.
constexpr size_t kMaxHostNameBytes = 255;

absl::Status At(size_t column, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("column ", column + 1, ": ", what));
}

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.'; }

// Reads one expression left to right; each item is a product of literal parts and brackets.
class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<std::string>> Parse() {
    if (text_.empty()) return At(0, "empty host list");
    while (true) {
      RETURN_IF_ERROR(ParseItem());
      if (position_ == text_.size()) return std::move(names_);
      ++position_;  // the comma
    }
  }

 private:
  absl::Status ParseItem() {
    std::vector<std::string> product = {""};
    size_t longest = 0;
    const size_t start = position_;
    while (position_ < text_.size() && text_[position_] != ',') {
      const char c = text_[position_];
      if (c == '[') {
        ASSIGN_OR_RETURN(std::vector<std::string> numbers, ParseBracket());
        if (product.size() * numbers.size() > kMaxHostlistNames) return TooMany();
        longest += std::max_element(numbers.begin(), numbers.end(), IsShorter)->size();
        if (longest > kMaxHostNameBytes) return TooLong(start);
        std::vector<std::string> next;
        next.reserve(product.size() * numbers.size());
        for (const std::string& prefix : product)
          for (const std::string& number : numbers) next.push_back(prefix + number);
        product = std::move(next);
      } else if (IsNameCharacter(c)) {
        if (++longest > kMaxHostNameBytes) return TooLong(start);
        for (std::string& name : product) name += c;
        ++position_;
      } else if (c == ']') {
        return At(position_, "']' without '['");
      } else {
        return At(position_, absl::StrCat("a host name cannot contain '",
                                          absl::ascii_isprint(c) ? std::string(1, c) : "?", "'"));
      }
    }
    if (position_ == start) return At(start, "a host name is missing");
    // Duplicates count too: they take as long as other names.
    expanded_ += product.size();
    if (expanded_ > kMaxHostlistNames) return TooMany();
    for (std::string& name : product) {
      if (seen_.insert(name).second) names_.push_back(std::move(name));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> ParseBracket() {
    const size_t open = position_++;
    std::vector<std::string> numbers;
    while (true) {
      RETURN_IF_ERROR(ParseRange(open, numbers));
      if (position_ == text_.size()) return At(open, "'[' is never closed");
      const char c = text_[position_++];
      if (c == ']') return numbers;
      if (c != ',') return At(position_ - 1, "expected a number, '-', ',' or ']'");
    }
  }

  // Adds to `numbers`, which never hold more than one host list may name.
  absl::Status ParseRange(size_t open, std::vector<std::string>& numbers) {
    const size_t start = position_;
    const absl::string_view first = Digits();
    if (first.empty())
      return position_ == text_.size() ? At(open, "'[' is never closed")
                                       : At(position_, "expected a number");
    if (position_ == text_.size() || text_[position_] != '-') {
      if (numbers.size() >= kMaxHostlistNames) return TooMany();
      numbers.emplace_back(first);
      return absl::OkStatus();
    }
    ++position_;
    const absl::string_view last = Digits();
    if (last.empty()) return At(position_, "expected the last number of the range");
    uint64_t from = 0, to = 0;
    if (first.size() > kMaxDigits || last.size() > kMaxDigits || !absl::SimpleAtoi(first, &from) ||
        !absl::SimpleAtoi(last, &to))
      return At(start, absl::StrCat("a number has more than ", kMaxDigits, " digits"));
    if (to < from) return At(start, absl::StrCat("range ", first, "-", last, " runs backwards"));
    if (to - from >= kMaxHostlistNames - numbers.size()) return TooMany();
    for (uint64_t n = from; n <= to; ++n)
      numbers.push_back(absl::StrFormat("%0*d", static_cast<int>(first.size()), n));
    return absl::OkStatus();
  }

  absl::string_view Digits() {
    const size_t start = position_;
    while (position_ < text_.size() && absl::ascii_isdigit(text_[position_])) ++position_;
    return text_.substr(start, position_ - start);
  }

  static bool IsShorter(const std::string& a, const std::string& b) { return a.size() < b.size(); }

  static absl::Status TooLong(size_t start) {
    return At(start, absl::StrCat("a name has more than ", kMaxHostNameBytes, " characters"));
  }

  static absl::Status TooMany() {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxHostlistNames, " names in one host list"));
  }

  const absl::string_view text_;
  size_t position_ = 0;
  std::vector<std::string> names_;
  size_t expanded_ = 0;  // `names_` and their duplicates
  absl::flat_hash_set<std::string> seen_;
};

// A name split before its trailing number: "c001" → {"c", "001"}. Slurm accepts brackets only at
// the end of a name, so names that end otherwise have no number here: "c001-ib" → {"c001-ib", ""}.
struct SplitName {
  std::string prefix, digits;
};

SplitName SplitBeforeLastDigits(const std::string& name) {
  size_t begin = name.size();
  while (begin > 0 && absl::ascii_isdigit(name[begin - 1]) && name.size() - begin < kMaxDigits)
    --begin;
  return {name.substr(0, begin), name.substr(begin)};
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandHostlist(absl::string_view expression) {
  return Parser(expression).Parse();
}

std::string FoldHostlist(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  // Names fold together when everything but the number is equal, and the number's width too.
  struct Group {
    std::string prefix;
    std::vector<std::string> digits;
  };
  std::vector<Group> groups;
  std::map<std::pair<std::string, size_t>, size_t> index;
  for (const std::string& name : names) {
    SplitName split = SplitBeforeLastDigits(name);
    const auto [it, added] = index.try_emplace({split.prefix, split.digits.size()}, groups.size());
    if (added) groups.push_back({split.prefix, {}});
    groups[it->second].digits.push_back(std::move(split.digits));
  }
  std::vector<std::string> parts;
  for (const Group& group : groups) {
    std::vector<std::string> ranges;
    for (size_t i = 0; i < group.digits.size();) {
      size_t j = i;
      uint64_t value = 0, next = 0;
      (void)absl::SimpleAtoi(group.digits[i], &value);
      while (j + 1 < group.digits.size() && absl::SimpleAtoi(group.digits[j + 1], &next) &&
             next == value + (j + 1 - i))
        ++j;
      ranges.push_back(i == j ? group.digits[i]
                              : absl::StrCat(group.digits[i], "-", group.digits[j]));
      i = j + 1;
    }
    const std::string numbers = absl::StrJoin(ranges, ",");
    const bool single = group.digits.size() == 1;
    parts.push_back(absl::StrCat(group.prefix, single ? numbers : absl::StrCat("[", numbers, "]")));
  }
  return absl::StrJoin(parts, ",");
}

}  // namespace muster
