// Text from elsewhere, fit to be shown: on a terminal, in a log, on a page.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

enum class Lines {
  kOne,
  kMany,  // newlines and tabs are part of the text
};

// Whether the text is UTF-8 without control characters: C0, DEL and C1, and also those that change
// the direction of text or end a line in Unicode, U+2028 to U+202E and U+2066 to U+2069.
bool IsPlain(absl::string_view text, Lines lines);

// `text` without the characters that IsPlain() refuses, at most `limit` bytes long; "…" replaces an
// end that was cut. Control characters become blanks; sequences that color a terminal are removed
// whole; in texts of many lines a carriage return ends one; anything that is not UTF-8 becomes
// U+FFFD. REQUIRES: limit is at least 8.
std::string PlainText(absl::string_view text, Lines lines, size_t limit = std::string::npos);

}  // namespace muster
