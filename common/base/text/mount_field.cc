#include "common/base/text/mount_field.h"

namespace muster {

std::string UnescapeMountField(absl::string_view field) {
  std::string text;
  for (size_t i = 0; i < field.size(); ++i) {
    const auto octal = [&field](size_t at) { return field[at] >= '0' && field[at] <= '7'; };
    if (field[i] == '\\' && i + 3 < field.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      text += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 +
                                (field[i + 3] - '0'));
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

}  // namespace muster
