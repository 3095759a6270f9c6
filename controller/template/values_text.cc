// How values print: Python's str() and repr().
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/value/folded_value.h"
#include "controller/template/values.h"

namespace muster::tmpl {
namespace {

// Python quotes with ' unless the text contains ' and no ".
void AppendQuoted(absl::string_view text, std::string* out) {
  const bool has_single = text.find('\'') != absl::string_view::npos;
  const bool has_double = text.find('"') != absl::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out->push_back(quote);
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (c == '\r') {
      out->append("\\r");
    } else if (c == '\t') {
      out->append("\\t");
    } else if (byte < 0x20 || byte == 0x7F) {
      absl::StrAppendFormat(out, "\\x%02x", byte);
    } else {
      out->push_back(c);
    }
  }
  out->push_back(quote);
}

void AppendNumber(const Value& value, std::string* out) {
  if (value.is_number_float()) {
    out->append(FloatText(value.get<double>()));
  } else if (value.is_number_unsigned()) {
    absl::StrAppend(out, value.get<uint64_t>());
  } else {
    absl::StrAppend(out, value.get<int64_t>());
  }
}

}  // namespace

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto written =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const absl::string_view scientific(buffer, static_cast<size_t>(written.ptr - buffer));
  const size_t mark = scientific.find('e');
  int exponent = 0;
  const char* digits_of_exponent = buffer + mark + (buffer[mark + 1] == '+' ? 2 : 1);
  std::from_chars(digits_of_exponent, written.ptr, exponent);
  if (exponent < -4 || exponent >= 16) return std::string(scientific);

  std::string digits;
  for (const char c : scientific.substr(0, mark)) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  const std::string sign = scientific[0] == '-' ? "-" : "";
  if (exponent < 0) return absl::StrCat(sign, "0.", std::string(-exponent - 1, '0'), digits);
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    return absl::StrCat(sign, digits, std::string(whole - digits.size(), '0'), ".0");
  }
  return absl::StrCat(sign, digits.substr(0, whole), ".", digits.substr(whole));
}

void AppendRepr(Context& context, const Value& value, std::string* out, int depth) {
  if (!context.budget.Enter(depth) || !context.budget.Spend(1)) return;
  if (IsFolded(value)) {
    AppendRepr(context, SpendUnfold(context, value), out, depth);
  } else if (IsText(value)) {
    const absl::string_view text = Text(context, value);
    if (context.budget.SpendText(out->size() + text.size())) AppendQuoted(text, out);
  } else if (value.is_array()) {
    out->push_back('[');
    for (size_t i = 0; i < value.size() && context.budget.status().ok(); ++i) {
      if (i > 0) out->append(", ");
      AppendRepr(context, value[i], out, depth + 1);
    }
    out->push_back(']');
  } else if (value.is_object()) {
    out->push_back('{');
    bool first = true;
    for (auto entry = value.begin(); entry != value.end() && context.budget.status().ok();
         ++entry) {
      if (!first) out->append(", ");
      first = false;
      AppendQuoted(entry.key(), out);
      out->append(": ");
      AppendRepr(context, *entry, out, depth + 1);
    }
    out->push_back('}');
  } else if (value.is_boolean()) {
    out->append(value.get<bool>() ? "True" : "False");
  } else if (value.is_number()) {
    AppendNumber(value, out);
  } else {
    out->append(value.is_null() ? "None" : "[binary]");
  }
}

void AppendText(Context& context, const Value& value, std::string* out) {
  if (!IsText(value)) {
    AppendRepr(context, value, out);
    return;
  }
  const absl::string_view text = Text(context, value);
  if (context.budget.SpendText(text.size())) absl::StrAppend(out, text);
}

std::string ToText(Context& context, const Value& value) {
  std::string out;
  AppendText(context, value, &out);
  return out;
}

}  // namespace muster::tmpl
