#include "common/base/utf8.h"

namespace muster {

std::string ValidUtf8(absl::string_view text, size_t limit) {
  std::string out;
  size_t i = 0;
  while (i < text.size() && out.size() < limit) {
    const unsigned char lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    bool good = lead < 0x80 || (lead >= 0xc2 && lead <= 0xf4 && i + length <= text.size());
    for (size_t k = 1; good && k < length; ++k) {
      good = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    }
    if (good && length > 1) {  // overlong forms, surrogates and what lies beyond Unicode
      const unsigned char second = static_cast<unsigned char>(text[i + 1]);
      good = !((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) ||
               (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90));
    }
    if (good) {
      out.append(text.data() + i, length);
      i += length;
    } else {
      out += "\xef\xbf\xbd";
      ++i;
    }
  }
  if (i < text.size()) out += "…";
  return out;
}

}  // namespace muster
