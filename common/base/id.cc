#include "common/base/id.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"

namespace muster {
namespace {

// RFC 9562 §4. REQUIRES: at least 16 bytes.
std::string FormatUuid(std::string bytes, int version) {
  bytes.resize(16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | version << 4);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);  // variant 10
  const std::string hex = absl::BytesToHexString(bytes);
  const absl::string_view h = hex;
  return absl::StrCat(h.substr(0, 8), "-", h.substr(8, 4), "-", h.substr(12, 4), "-",
                      h.substr(16, 4), "-", h.substr(20));
}

}  // namespace

std::string NewUuid() { return FormatUuid(RandomBytes(16), 4); }

std::string UuidOf(absl::string_view text) {
  return FormatUuid(absl::HexStringToBytes(Sha256Hex(text)), 8);
}

bool IsUuid(absl::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-'
             : !(absl::ascii_isdigit(text[i]) || (text[i] >= 'a' && text[i] <= 'f')))
      return false;
  }
  return true;
}

std::string NewShortId(absl::string_view prefix) {
  static constexpr char kAlphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";  // 32, without i l o u
  std::string id = absl::StrCat(prefix, "-");
  for (const char byte : RandomBytes(8)) id += kAlphabet[static_cast<unsigned char>(byte) % 32];
  return id;
}

}  // namespace muster
