#include "cli/render/plain_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text/plain_text.h"

namespace muster::cli {

std::string Tame(absl::string_view text) { return PlainText(text, Lines::kMany); }

std::string CleanLine(absl::string_view text) {
  constexpr size_t kMaxLine = 1024;
  return PlainText(text, Lines::kOne, kMaxLine);
}

std::string Indent(absl::string_view text, size_t columns) {
  std::string out;
  for (absl::string_view line : absl::StrSplit(absl::StripTrailingAsciiWhitespace(text), '\n'))
    absl::StrAppend(&out, std::string(columns, ' '), Tame(line), "\n");
  return out;
}

std::string CleanOrDash(absl::string_view text) { return text.empty() ? "-" : CleanLine(text); }

}  // namespace muster::cli
