#include "controller/snapshot/control_file.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text/plain_text.h"

namespace muster::controller::snapshot {
namespace {

constexpr size_t kMaxPath = 1024;
constexpr size_t kMaxShown = 80;

}  // namespace

absl::string_view Paragraph::Get(absl::string_view name) const {
  for (const Field& field : fields_) {
    if (absl::EqualsIgnoreCase(field.name, name)) return field.value;
  }
  return "";
}

absl::string_view ControlReader::TakeLine() {
  const size_t end = std::min(text_.find('\n'), text_.size());
  const absl::string_view line = text_.substr(0, end);
  text_.remove_prefix(std::min(end + 1, text_.size()));
  ++line_;
  return line;
}

absl::StatusOr<Paragraph> ControlReader::Next() {
  Paragraph paragraph;
  while (!text_.empty()) {
    const absl::string_view line = TakeLine();
    if (absl::StripAsciiWhitespace(line).empty()) {
      if (paragraph.empty()) continue;
      return paragraph;
    }
    const auto wrong = [&](absl::string_view what) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line_, ": '", PlainText(line, Lines::kOne, kMaxShown), "' ", what));
    };
    if (line[0] == ' ' || line[0] == '\t') {
      if (paragraph.empty()) return wrong("continues no field");
      // It follows the value in the text.
      absl::string_view& value = paragraph.fields_.back().value;
      value = absl::string_view(value.data(),
                                static_cast<size_t>(line.data() + line.size() - value.data()));
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos || !IsWord(line.substr(0, colon)))
      return wrong("is not a field: the form is 'Name: value'");
    const absl::string_view name = line.substr(0, colon);
    // Two readers could go by different ones.
    for (const Paragraph::Field& field : paragraph.fields_) {
      if (absl::EqualsIgnoreCase(field.name, name)) return wrong("repeats a field");
    }
    absl::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    paragraph.fields_.push_back({name, value});
  }
  return paragraph;
}

bool IsWord(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
}

bool IsPlainPath(absl::string_view path) {
  if (!IsWord(path) || path.size() > kMaxPath) return false;
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  return std::none_of(parts.begin(), parts.end(), [](absl::string_view part) {
    return part.empty() || part == "." || part == "..";
  });
}

}  // namespace muster::controller::snapshot
