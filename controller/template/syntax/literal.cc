#include "controller/template/syntax/literal.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::tmpl {
namespace {

// Single-letter escapes.
constexpr absl::string_view kSimpleLetters = "\\'\"abfnrtv";
constexpr absl::string_view kSimpleValues = "\\'\"\a\b\f\n\r\t\v";

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

int DigitsOfHexEscape(char letter) {
  switch (letter) {
    case 'x':
      return 2;
    case 'u':
      return 4;
    case 'U':
      return 8;
    default:
      return 0;
  }
}

int DigitValue(char c) {
  if (absl::ascii_isdigit(c)) return c - '0';
  if (absl::ascii_isxdigit(c)) return absl::ascii_tolower(c) - 'a' + 10;
  return 99;
}

// The number of digits of `base` at the start of `text`, with single "_" allowed between digits.
size_t CountDigits(absl::string_view text, int base) {
  size_t length = 0;
  while (length < text.size()) {
    const bool separator = text[length] == '_' && length > 0 && length + 1 < text.size();
    const size_t at = length + (separator ? 1 : 0);
    if (DigitValue(text[at]) >= base) break;
    length = at + 1;
  }
  return length;
}

absl::StatusOr<int64_t> ParseDigits(absl::string_view digits, int base) {
  int64_t value = 0;
  for (const char c : digits) {
    if (c == '_') continue;
    if (__builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, DigitValue(c), &value)) {
      return absl::InvalidArgumentError("the number does not fit into 64 bits");
    }
  }
  return value;
}

}  // namespace

std::string EncodeUtf8(uint32_t code) {
  std::string out;
  const auto tail = [&](int shift) {
    out.push_back(static_cast<char>(0x80 | ((code >> shift) & 0x3F)));
  };
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code >> 6)));
    tail(0);
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (code >> 12)));
    tail(6);
    tail(0);
  } else if (code <= 0x10FFFF) {
    out.push_back(static_cast<char>(0xF0 | (code >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
  return out;
}

absl::StatusOr<std::string> Unescape(absl::string_view body) {
  std::string out;
  out.reserve(body.size());
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      out.push_back(body[i]);
      continue;
    }
    const char letter = body[++i];
    const size_t simple = kSimpleLetters.find(letter);
    if (letter == '\n') continue;
    if (simple != absl::string_view::npos) {
      out.push_back(kSimpleValues[simple]);
    } else if (IsOctal(letter)) {
      uint32_t code = 0;
      size_t end = i;
      while (end < body.size() && end < i + 3 && IsOctal(body[end]))
        code = code * 8 + (body[end++] - '0');
      i = end - 1;
      absl::StrAppend(&out, EncodeUtf8(code));
    } else if (const int digits = DigitsOfHexEscape(letter); digits > 0) {
      const absl::string_view hex = body.substr(i + 1, digits);
      uint32_t code = 0;
      for (const char c : hex) {
        if (!absl::ascii_isxdigit(c))
          return absl::InvalidArgumentError("a broken escape in the string");
        code = code * 16 + DigitValue(c);
      }
      const bool surrogate = code >= 0xD800 && code < 0xE000;
      if (hex.size() != static_cast<size_t>(digits) || code > 0x10FFFF || surrogate) {
        return absl::InvalidArgumentError("a broken escape in the string");
      }
      absl::StrAppend(&out, EncodeUtf8(code));
      i += digits;
    } else {
      out.push_back('\\');
      out.push_back(letter);
    }
  }
  return out;
}

absl::StatusOr<NumberLiteral> ReadNumber(absl::string_view text, bool after_dot) {
  NumberLiteral out;
  if (text.size() > 2 && text[0] == '0') {
    const char mark = absl::ascii_tolower(text[1]);
    const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    const size_t digits = base > 0 ? CountDigits(text.substr(2), base) : 0;
    if (digits > 0) {
      out.length = 2 + digits;
      auto value = ParseDigits(text.substr(2, digits), base);
      if (!value.ok()) return value.status();
      out.integer = *value;
      return out;
    }
  }
  out.length = CountDigits(text, 10);
  size_t end = out.length;
  if (!after_dot) {
    if (end + 1 < text.size() && text[end] == '.' && absl::ascii_isdigit(text[end + 1])) {
      end += 1 + CountDigits(text.substr(end + 1), 10);
      out.is_float = true;
    }
    if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
      size_t digits_at = end + 1;
      if (digits_at < text.size() && (text[digits_at] == '+' || text[digits_at] == '-'))
        ++digits_at;
      if (digits_at < text.size() && absl::ascii_isdigit(text[digits_at])) {
        end = digits_at + CountDigits(text.substr(digits_at), 10);
        out.is_float = true;
      }
    }
  }
  if (out.is_float) {
    std::string digits(text.substr(0, end));
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    if (!absl::SimpleAtod(digits, &out.number))
      return absl::InvalidArgumentError("a broken number");
    out.length = end;
    return out;
  }
  auto value = ParseDigits(text.substr(0, out.length), 10);
  if (!value.ok()) return value.status();
  out.integer = *value;
  if (text[0] == '0' && out.integer != 0) {
    return absl::InvalidArgumentError("a number must not start with 0 (octal is written 0o17)");
  }
  return out;
}

}  // namespace muster::tmpl
