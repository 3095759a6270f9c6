#include "controller/enrollment/join_token.h"

#include <cstdint>

#include "common/base/digest.h"

namespace muster::controller {

std::string NewJoinToken() {
  static constexpr char kAlphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
  std::string token = "mtk-";
  uint32_t bits = 0;
  int count = 0;
  for (const char byte : RandomBytes(32)) {
    bits = (bits << 8) | static_cast<unsigned char>(byte);
    for (count += 8; count >= 5; count -= 5) token += kAlphabet[(bits >> (count - 5)) & 31];
  }
  token += kAlphabet[(bits << (5 - count)) & 31];
  return token;
}

std::string HashJoinToken(absl::string_view token) { return Sha256Hex(token); }

}  // namespace muster::controller
