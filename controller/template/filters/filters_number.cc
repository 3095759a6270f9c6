// Filters that make numbers.
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

// Python's int(text, base), except for base 0.
bool ParseInteger(absl::string_view text, int base, int64_t* out) {
  text = absl::StripAsciiWhitespace(text);
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  const absl::string_view mark = base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "";
  if (!mark.empty() && absl::StartsWithIgnoreCase(text, mark)) text.remove_prefix(2);
  if (text.empty() || !absl::ascii_isalnum(text.front()) || !absl::ascii_isalnum(text.back()))
    return false;
  int64_t value = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = absl::ascii_tolower(text[i]);
    if (c == '_' && text[i - 1] != '_') continue;
    const int digit = absl::ascii_isdigit(c) ? c - '0' : absl::ascii_isalpha(c) ? c - 'a' + 10 : 99;
    if (digit >= base) return false;
    if (__builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, negative ? -digit : digit, &value)) {
      return false;
    }
  }
  *out = value;
  return true;
}

bool ParseFloat(absl::string_view text, double* out) {
  text = absl::StripAsciiWhitespace(text);
  // "nan(…)" is C syntax, not Python's.
  return !absl::StrContains(text, "(") && absl::SimpleAtod(text, out);
}

bool FitsInteger(double value) { return value > -9.2233720368547e18 && value < 9.2233720368547e18; }

ValuePtr Given(const Call& call, size_t index, Value otherwise) {
  return call.args[index] != nullptr ? call.args[index] : NewValue(std::move(otherwise));
}

constexpr absl::string_view kTrueWords[] = {"yes", "on", "1", "true"};
constexpr absl::string_view kFalseWords[] = {"no", "off", "0", "false", ""};

double RoundTo(double value, int64_t precision, const std::string& method) {
  if (method == "common" && precision >= 0) {
    double out = value;
    if (!absl::SimpleAtod(absl::StrFormat("%.*f", static_cast<int>(precision), value), &out))
      return value;
    return out;
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  if (method == "ceil") return std::ceil(value * scale) / scale;
  if (method == "floor") return std::floor(value * scale) / scale;
  // Half to even, like Python's round().
  return std::nearbyint(value * scale) / scale;
}

}  // namespace

FilterResult Int(Call& call) {
  ASSIGN_OR_RETURN(const int64_t base, call.IntArg(1, 10));
  if (base < 2 || base > 36)
    return absl::InvalidArgumentError("filter 'int' takes a base from 2 to 36");
  int64_t integer = 0;
  double number = 0;
  if (IsText(*call.input)) {
    const absl::string_view text = Text(call.context, *call.input);
    if (ParseInteger(text, static_cast<int>(base), &integer)) return NewValue(integer);
    if (!ParseFloat(text, &number)) return Given(call, 0, 0);
  } else {
    if (ToInteger(*call.input, &integer)) return NewValue(integer);
    if (!IsNumber(*call.input)) return Given(call, 0, 0);
    number = ToDouble(*call.input);
  }
  if (!std::isfinite(number) || !FitsInteger(number)) {
    return absl::InvalidArgumentError("filter 'int': the number does not fit into 64 bits");
  }
  return NewValue(static_cast<int64_t>(number));
}

FilterResult Float(Call& call) {
  double number = 0;
  if (IsNumber(*call.input)) return NewValue(ToDouble(*call.input));
  if (IsText(*call.input) && ParseFloat(Text(call.context, *call.input), &number)) {
    return NewValue(number);
  }
  return Given(call, 0, 0.0);
}

FilterResult Bool(Call& call) {
  if (call.input->is_null()) return NewValue(false);
  if (IsNumber(*call.input)) return NewValue(ToDouble(*call.input) != 0);
  if (IsText(*call.input)) {
    const std::string word = LowerAscii(PeekText(*call.input));
    for (const absl::string_view yes : kTrueWords) {
      if (word == yes) return NewValue(true);
    }
    for (const absl::string_view no : kFalseWords) {
      if (word == no) return NewValue(false);
    }
    return absl::InvalidArgumentError(
        "filter 'bool' knows yes, on, 1, true and no, off, 0, false; this string is neither");
  }
  return absl::InvalidArgumentError(absl::StrCat("filter 'bool' on ", TypeName(*call.input)));
}

FilterResult Round(Call& call) {
  ASSIGN_OR_RETURN(const int64_t precision, call.IntArg(0, 0));
  ASSIGN_OR_RETURN(const std::string method, call.TextArg(1, "common"));
  if (precision < -15 || precision > 15) {
    return absl::InvalidArgumentError("filter 'round' takes a precision from -15 to 15");
  }
  if (method != "common" && method != "ceil" && method != "floor") {
    return absl::InvalidArgumentError("filter 'round' knows the methods common, ceil and floor");
  }
  if (!IsNumber(*call.input)) {
    return absl::InvalidArgumentError(absl::StrCat("filter 'round' on ", TypeName(*call.input)));
  }
  int64_t integer = 0;
  if (method == "common" && ToInteger(*call.input, &integer)) {
    if (precision >= 0) return NewValue(integer);
    return NewValue(static_cast<int64_t>(RoundTo(static_cast<double>(integer), precision, method)));
  }
  return NewValue(RoundTo(ToDouble(*call.input), precision, method));
}

FilterResult Abs(Call& call) {
  int64_t integer = 0;
  if (!IsNumber(*call.input)) {
    return absl::InvalidArgumentError(absl::StrCat("filter 'abs' on ", TypeName(*call.input)));
  }
  if (!ToInteger(*call.input, &integer)) return NewValue(std::fabs(ToDouble(*call.input)));
  if (integer == INT64_MIN)
    return absl::InvalidArgumentError("the result does not fit into 64 bits");
  return NewValue(integer < 0 ? -integer : integer);
}

}  // namespace muster::tmpl
