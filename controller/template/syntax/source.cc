#include "controller/template/syntax/source.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text/source_error.h"

namespace muster::tmpl {
namespace {

std::string WithUniformLineBreaks(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out.push_back(text[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  return out;
}

}  // namespace

Source::Source(absl::string_view text, SourcePosition start)
    : text_(WithUniformLineBreaks(text)), start_(std::move(start)) {}

Place Source::PlaceOf(int line_index, size_t column_offset) const {
  const int shift = line_index == 0 ? start_.column - 1 : start_.indent;
  return {start_.line + line_index, static_cast<int>(column_offset) + 1 + shift};
}

std::string Source::Describe(Place place) const {
  return absl::StrCat(start_.file, ":", place.line, ":", place.column);
}

absl::Status Source::Error(Place place, absl::string_view message, absl::StatusCode code) const {
  if (start_.file_text != nullptr) {
    return absl::Status(
        code, RenderSourceError(start_.file, place.line, place.column, *start_.file_text, message));
  }
  // Moves the text to its position in its file, so that line and column numbers agree.
  std::string padded(start_.line > 1 ? start_.line - 1 : 0, '\n');
  padded.append(start_.column > 1 ? start_.column - 1 : 0, ' ');
  const std::string indent(start_.indent > 0 ? start_.indent : 0, ' ');
  for (const char c : text_) {
    padded.push_back(c);
    if (c == '\n') padded.append(indent);
  }
  return absl::Status(code,
                      RenderSourceError(start_.file, place.line, place.column, padded, message));
}

}  // namespace muster::tmpl
