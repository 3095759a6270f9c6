#include "common/base/text/plain_text.h"

#include "absl/strings/match.h"
#include "common/base/text/utf8.h"

namespace muster {
namespace {

constexpr absl::string_view kCut = "…";
constexpr size_t kMaxCharacterBytes = 4;

unsigned char ByteAt(absl::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// REQUIRES: one character of UTF-8.
bool IsControl(absl::string_view character) {
  const unsigned char lead = ByteAt(character, 0);
  switch (character.size()) {
    case 1:
      return lead < 0x20 || lead == 0x7f;
    case 2:  // U+0080 to U+009F
      return lead == 0xc2 && ByteAt(character, 1) < 0xa0;
    case 3: {
      if (lead != 0xe2) return false;
      const unsigned char second = ByteAt(character, 1), third = ByteAt(character, 2);
      return (second == 0x80 && third >= 0xa8 && third <= 0xae) ||
             (second == 0x81 && third >= 0xa6 && third <= 0xa9);
    }
    default:
      return false;
  }
}

bool IsLayout(absl::string_view character, Lines lines) {
  return lines == Lines::kMany && (character == "\n" || character == "\t");
}

// Bytes of the control sequence (ECMA-48: ESC [, parameters, a letter) at the beginning of `text`;
// 0: there is none.
size_t ControlSequenceBytes(absl::string_view text) {
  if (!absl::StartsWith(text, "\x1b[")) return 0;
  for (size_t i = 2; i < text.size(); ++i) {
    const unsigned char c = ByteAt(text, i);
    if (c >= 0x40 && c <= 0x7e) return i + 1;
    if (c < 0x20 || c > 0x3f) return 0;
  }
  return 0;
}

}  // namespace

bool IsPlain(absl::string_view text, Lines lines) {
  while (!text.empty()) {
    const size_t length = CharacterBytes(text);
    if (length == 0) return false;
    const absl::string_view character = text.substr(0, length);
    if (IsControl(character) && !IsLayout(character, lines)) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string PlainText(absl::string_view text, Lines lines, size_t limit) {
  if (text.size() <= limit && IsPlain(text, lines)) return std::string(text);
  const size_t full = limit - kCut.size() - kMaxCharacterBytes;
  std::string out;
  while (!text.empty()) {
    if (out.size() > full) return out.append(kCut.data(), kCut.size());
    if (const size_t sequence = ControlSequenceBytes(text); sequence > 0) {
      text.remove_prefix(sequence);
      continue;
    }
    const size_t length = CharacterBytes(text);
    const absl::string_view character = text.substr(0, length);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (!IsControl(character) || IsLayout(character, lines)) {
      out.append(character.data(), length);
    } else if (lines == Lines::kMany && character == "\r") {
      if (!absl::StartsWith(text, "\r\n")) out += '\n';
    } else {
      out += ' ';
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

}  // namespace muster
