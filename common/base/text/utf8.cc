#include "common/base/text/utf8.h"

namespace muster {

size_t CharacterBytes(absl::string_view text) {
  const unsigned char lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and code points beyond Unicode.
  const unsigned char second = static_cast<unsigned char>(text[1]);
  const bool is_bad = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) ||
                      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90);
  return is_bad ? 0 : length;
}

std::string ValidUtf8(absl::string_view text, size_t limit) {
  std::string out;
  while (!text.empty() && out.size() < limit) {
    const size_t length = CharacterBytes(text);
    if (length > 0) {
      out.append(text.data(), length);
    } else {
      out += "\xef\xbf\xbd";
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  if (!text.empty()) out += "…";
  return out;
}

}  // namespace muster
