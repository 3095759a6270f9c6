#include "common/checks/parameter_value.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"

namespace muster::checks {
namespace {

struct Unit {
  absl::string_view name;
  double factor;
};

constexpr double kKi = 1024, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi;
constexpr Unit kSizeUnits[] = {
    {"", 1},    {"B", 1},   {"KiB", kKi}, {"MiB", kMi}, {"GiB", kGi}, {"TiB", kTi}, {"K", kKi},
    {"M", kMi}, {"G", kGi}, {"T", kTi},   {"kB", 1e3},  {"MB", 1e6},  {"GB", 1e9},  {"TB", 1e12},
};

struct TypeRow {
  ParameterType type;
  absl::string_view name;
  absl::string_view wanted;
};
constexpr TypeRow kTypes[] = {
    {ParameterType::kNumber, "number", "a number"},
    {ParameterType::kDuration, "duration",
     "a duration such as 60s or 5m; a plain number means seconds"},
    {ParameterType::kSize, "size", "a size such as 512MiB or 1GiB"},
    {ParameterType::kWord, "word", "a word"},
    {ParameterType::kWords, "words", "words separated by commas"},
    {ParameterType::kFlag, "flag", "true or false"},
};

const TypeRow& Row(ParameterType type) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [type](const TypeRow& row) { return row.type == type; });
}

absl::Status Refuse(const ParameterSpec& spec, absl::string_view text, absl::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("parameter ", spec.name, ": '", text, "' is not ", wanted));
}

absl::Status CheckWord(const ParameterSpec& spec, absl::string_view word) {
  if (spec.words.empty() ||
      std::find(spec.words.begin(), spec.words.end(), word) != spec.words.end())
    return absl::OkStatus();
  const std::vector<std::string> known(spec.words.begin(), spec.words.end());
  return Refuse(spec, word,
                absl::StrCat("one of ", absl::StrJoin(known, ", "), DidYouMean(word, known)));
}

std::string BoundText(const ParameterSpec& spec, double bound) {
  return spec.type == ParameterType::kDuration ? absl::FormatDuration(absl::Seconds(bound))
                                               : absl::StrCat(bound);
}

}  // namespace

bool IsNumeric(ParameterType type) {
  return type == ParameterType::kNumber || type == ParameterType::kDuration ||
         type == ParameterType::kSize;
}

absl::string_view TypeName(ParameterType type) { return Row(type).name; }

absl::StatusOr<double> ParseSize(absl::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double value = 0;
  if (digits > 0 && absl::SimpleAtod(text.substr(0, digits), &value)) {
    const absl::string_view name = absl::StripAsciiWhitespace(text.substr(digits));
    for (const Unit& unit : kSizeUnits)
      if (unit.name == name) return value * unit.factor;
  }
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a size"));
}

std::string WithUnit(const ParameterSpec& spec, absl::string_view text) {
  double seconds = 0;
  if (spec.type != ParameterType::kDuration || !absl::SimpleAtod(text, &seconds))
    return std::string(text);
  return absl::FormatDuration(absl::Seconds(seconds));
}

absl::StatusOr<double> ParseNumber(const ParameterSpec& spec, absl::string_view text) {
  double value = 0;
  bool ok = false;
  if (spec.type == ParameterType::kDuration) {
    absl::Duration duration;
    ok = absl::ParseDuration(WithUnit(spec, text), &duration);
    value = absl::ToDoubleSeconds(duration);
  } else if (spec.type == ParameterType::kSize) {
    const absl::StatusOr<double> size = ParseSize(text);
    ok = size.ok();
    value = size.value_or(0);
  } else {
    ok = absl::SimpleAtod(text, &value);
  }
  if (!ok || !std::isfinite(value)) return Refuse(spec, text, Row(spec.type).wanted);
  if (value < spec.min)
    return Refuse(spec, text, absl::StrCat("at least ", BoundText(spec, spec.min)));
  if (spec.max != 0 && value > spec.max)
    return Refuse(spec, text, absl::StrCat("at most ", BoundText(spec, spec.max)));
  return value;
}

absl::Status CheckValue(const ParameterSpec& spec, absl::string_view text) {
  if (IsNumeric(spec.type)) return ParseNumber(spec, text).status();
  if (spec.type == ParameterType::kFlag)
    return text == "true" || text == "false" ? absl::OkStatus()
                                             : Refuse(spec, text, Row(spec.type).wanted);
  if (spec.type == ParameterType::kWord) return CheckWord(spec, text);
  for (const std::string& word : SplitWords(text)) RETURN_IF_ERROR(CheckWord(spec, word));
  return absl::OkStatus();
}

std::vector<std::string> SplitWords(absl::string_view text) {
  std::vector<std::string> words;
  for (absl::string_view word : absl::StrSplit(text, ','))
    if (word = absl::StripAsciiWhitespace(word); !word.empty()) words.emplace_back(word);
  return words;
}

}  // namespace muster::checks
