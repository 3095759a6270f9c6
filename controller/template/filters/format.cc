// Python's "%" formatting of text.
#include <cmath>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/template/arithmetic.h"

namespace muster::tmpl {
namespace {

constexpr int kMaxWidth = 1000;

// One "%-08.3f": the flags, and the parts after them.
struct Directive {
  std::string flags;
  int width = 0;
  int precision = -1;
  char type = 0;
};

absl::StatusOr<int> ReadWidth(absl::string_view* rest) {
  int number = 0;
  while (!rest->empty() && absl::ascii_isdigit(rest->front())) {
    number = number * 10 + (rest->front() - '0');
    if (number > kMaxWidth) return absl::InvalidArgumentError("a width above 1000 in the format");
    rest->remove_prefix(1);
  }
  return number;
}

// Reads the directive after a "%".
absl::StatusOr<Directive> ReadDirective(absl::string_view* rest) {
  Directive out;
  while (!rest->empty() &&
         absl::string_view("-+ 0#").find(rest->front()) != absl::string_view::npos) {
    if (out.flags.find(rest->front()) == std::string::npos) out.flags.push_back(rest->front());
    rest->remove_prefix(1);
  }
  ASSIGN_OR_RETURN(out.width, ReadWidth(rest));
  if (!rest->empty() && rest->front() == '.') {
    rest->remove_prefix(1);
    ASSIGN_OR_RETURN(out.precision, ReadWidth(rest));
  }
  if (rest->empty()) return absl::InvalidArgumentError("the format ends after '%'");
  out.type = rest->front();
  rest->remove_prefix(1);
  return out;
}

template <typename T>
std::string Print(const Directive& d, absl::string_view length, char type, T value) {
  std::string spec = absl::StrCat("%", d.flags, "*.*", length, std::string(1, type));
  char buffer[2 * kMaxWidth + 400];
  const int size = std::snprintf(buffer, sizeof buffer, spec.c_str(), d.width, d.precision, value);
  return std::string(buffer, size < 0 ? 0 : static_cast<size_t>(size));
}

std::string Pad(const Directive& d, std::string text) {
  if (d.precision >= 0) {
    const std::vector<absl::string_view> characters = Characters(text);
    if (characters.size() > static_cast<size_t>(d.precision)) {
      size_t bytes = 0;
      for (int i = 0; i < d.precision; ++i) bytes += characters[static_cast<size_t>(i)].size();
      text.resize(bytes);
    }
  }
  const size_t length = Characters(text).size();
  const size_t missing = static_cast<size_t>(d.width) > length ? d.width - length : 0;
  const bool left = d.flags.find('-') != std::string::npos;
  return left ? absl::StrCat(text, std::string(missing, ' '))
              : absl::StrCat(std::string(missing, ' '), text);
}

absl::StatusOr<std::string> FormatOne(Context& context, const Directive& d, const Value& value) {
  switch (d.type) {
    case 's':
      return Pad(d, ToText(context, value));
    case 'r': {
      std::string text;
      AppendRepr(context, value, &text);
      return Pad(d, text);
    }
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o': {
      int64_t integer = 0;
      const bool decimal = d.type == 'd' || d.type == 'i' || d.type == 'u';
      if (decimal && value.is_number_float() && std::abs(value.get<double>()) < 9e18) {
        integer = static_cast<int64_t>(value.get<double>());
      } else if (!ToInteger(value, &integer)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "'%", std::string(1, d.type), "' needs an integer, not ", TypeName(value)));
      }
      if (decimal) return Print(d, "ll", 'd', static_cast<long long>(integer));
      if (integer < 0 || d.flags.find('#') != std::string::npos) {
        return absl::InvalidArgumentError(
            "hexadecimal and octal formats take integers >= 0, no '#'");
      }
      return Print(d, "ll", d.type, static_cast<unsigned long long>(integer));
    }
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
      if (!IsNumber(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat("'%", std::string(1, d.type), "' needs a number, not ", TypeName(value)));
      }
      return Print(d, "", d.type, ToDouble(value));
    default:
      return absl::InvalidArgumentError("the format knows %s %r %d %i %x %X %o %e %f %g and %%");
  }
}

}  // namespace

absl::StatusOr<Value> FormatPercent(Context& context, const Value& format, const Value& values) {
  absl::string_view rest = Text(context, format);
  const size_t available = values.is_array() ? values.size() : 1;
  size_t used = 0;
  std::string out;
  while (!rest.empty()) {
    const size_t percent = rest.find('%');
    absl::StrAppend(&out, rest.substr(0, percent));
    if (percent == absl::string_view::npos) break;
    rest.remove_prefix(percent + 1);
    ASSIGN_OR_RETURN(const Directive directive, ReadDirective(&rest));
    if (directive.type == '%') {
      out.push_back('%');
      continue;
    }
    if (used == available)
      return absl::InvalidArgumentError("the format asks for more values than given");
    const Value& value = values.is_array() ? values[used] : values;
    ++used;
    ASSIGN_OR_RETURN(const std::string text, FormatOne(context, directive, value));
    if (!context.budget.SpendText(out.size() + text.size())) return context.budget.status();
    out += text;
  }
  if (used < available) return absl::InvalidArgumentError("the format leaves values unused");
  return Value(out);
}

}  // namespace muster::tmpl
