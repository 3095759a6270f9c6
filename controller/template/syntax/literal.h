// Reads the literals of a template: strings with Python's escapes, numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::tmpl {

// The UTF-8 form of a code point; "" beyond U+10FFFF.
std::string EncodeUtf8(uint32_t code_point);

// The value of the text between the quotes. Unknown escapes stay as they are, as in Python.
absl::StatusOr<std::string> Unescape(absl::string_view body);

struct NumberLiteral {
  size_t length = 0;  // bytes read
  bool is_float = false;
  int64_t integer = 0;
  double number = 0;
};
// Reads the number at the start of `text`, which starts with a digit. `after_dot`: it is the index
// in `list.0`, which is never a float.
absl::StatusOr<NumberLiteral> ReadNumber(absl::string_view text, bool after_dot);

}  // namespace muster::tmpl
