#include "cli/inventory_edit/widen_hostlist.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

// More digits than a host list takes in a range.
constexpr size_t kMaxDigits = 12;

// An item that ends with numbers: "r1n[01-03,07]" is {"r1n", "01-03,07"}, "r1n08" is {"r1n", "08"}.
struct Series {
  absl::string_view prefix, numbers;
};

bool SplitSeries(absl::string_view item, Series* series) {
  size_t begin = item.size();
  if (absl::EndsWith(item, "]")) {
    begin = item.rfind('[');
    if (begin == absl::string_view::npos) return false;
    *series = {item.substr(0, begin), item.substr(begin + 1, item.size() - begin - 2)};
    return true;
  }
  while (begin > 0 && absl::ascii_isdigit(item[begin - 1])) --begin;
  *series = {item.substr(0, begin), item.substr(begin)};
  return begin < item.size();
}

// "01-03,07" and "08" make "01-03,07-08": the last range grows if `digits` is the next number, as
// wide as a host list would write it.
std::string WithNumber(absl::string_view numbers, absl::string_view digits) {
  const size_t at = numbers.rfind(',') == absl::string_view::npos ? 0 : numbers.rfind(',') + 1;
  const absl::string_view range = numbers.substr(at);
  const size_t dash = range.find('-');
  const absl::string_view first = range.substr(0, dash);
  const absl::string_view last = dash == absl::string_view::npos ? first : range.substr(dash + 1);
  uint64_t value = 0;
  if (last.size() <= kMaxDigits && absl::SimpleAtoi(last, &value) &&
      absl::StrFormat("%0*d", static_cast<int>(first.size()), value + 1) == digits)
    return absl::StrCat(numbers.substr(0, at), first, "-", digits);
  return absl::StrCat(numbers, ",", digits);
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
}

// The item with `name`, or both as two items.
std::string Join(absl::string_view item, absl::string_view name) {
  Series series;
  absl::string_view digits = name;
  if (SplitSeries(item, &series) && absl::ConsumePrefix(&digits, series.prefix) &&
      IsNumber(digits) && !absl::StrContains(series.prefix, '['))
    return absl::StrCat(series.prefix, "[", WithNumber(series.numbers, digits), "]");
  return absl::StrCat(item, ",", name);
}

bool Holds(absl::string_view item, absl::string_view name) {
  const absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(item);
  return names.ok() && std::find(names->begin(), names->end(), name) != names->end();
}

}  // namespace

std::vector<absl::string_view> SplitItems(absl::string_view list) {
  std::vector<absl::string_view> items;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    depth += list[i] == '[' ? 1 : list[i] == ']' ? -1 : 0;
    if (list[i] != ',' || depth > 0) continue;
    items.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  items.push_back(list.substr(begin));
  return items;
}

absl::StatusOr<std::string> WidenHostlist(absl::string_view list,
                                          const std::vector<std::string>& names, Widening widening,
                                          absl::string_view like) {
  ASSIGN_OR_RETURN(std::vector<std::string> wanted, ExpandHostlist(list));
  wanted.insert(wanted.end(), names.begin(), names.end());
  std::vector<std::string> items;
  for (const absl::string_view item : SplitItems(list)) items.emplace_back(item);
  auto place = items.end() - 1;
  if (widening == Widening::kBesideLike) {
    place = std::find_if(items.begin(), items.end(),
                         [&](const std::string& item) { return Holds(item, like); });
    if (place == items.end())
      return absl::InvalidArgumentError(absl::StrCat(like, " is not in ", list));
  }
  for (const std::string& name : names) {
    // A name that opened an item of its own: the next one may continue that item.
    const size_t comma = SplitItems(*place).back().data() - place->data();
    *place = absl::StrCat(place->substr(0, comma), Join(place->substr(comma), name));
  }
  const std::string widened = absl::StrJoin(items, ",");
  ASSIGN_OR_RETURN(std::vector<std::string> found, ExpandHostlist(widened));
  if (widening == Widening::kBesideLike) {
    std::sort(found.begin(), found.end());
    std::sort(wanted.begin(), wanted.end());
  }
  if (found != wanted)
    return absl::InvalidArgumentError(
        absl::StrCat(list, " cannot be written with ", absl::StrJoin(names, ",")));
  return widened;
}

absl::StatusOr<std::string> WriteHostlist(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  return WidenHostlist(names[0], {names.begin() + 1, names.end()}, Widening::kAtTheEnd);
}

}  // namespace muster::cli
