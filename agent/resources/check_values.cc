#include "agent/resources/check_values.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::agent {
namespace {

absl::Status Refuse(absl::string_view field, absl::string_view value, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": '", absl::CHexEscape(value), "' ", why));
}

}  // namespace

absl::Status CheckPath(absl::string_view field, absl::string_view path) {
  if (path.empty() || path.front() != '/') return Refuse(field, path, "is not an absolute path");
  if (path.find('\0') != absl::string_view::npos) return Refuse(field, path, "holds a NUL");
  for (const absl::string_view part : absl::StrSplit(path.substr(1), '/'))
    if (part.empty() || part == "." || part == "..")
      return Refuse(field, path, "is not in its plain form (no '..', '.', '//' or '/' at the end)");
  return absl::OkStatus();
}

absl::Status CheckName(absl::string_view field, absl::string_view name) {
  if (name.empty()) return Refuse(field, name, "is empty");
  if (name.front() == '-') return Refuse(field, name, "begins with a dash");
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) {
        return absl::ascii_isspace(c) || absl::ascii_iscntrl(c) || c == '/';
      }))
    return Refuse(field, name, "contains a blank, a slash or a control character");
  return absl::OkStatus();
}

absl::Status CheckSetName(absl::string_view name) {
  const auto is_part = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_';
  };
  if (name.empty() || !absl::ascii_isalnum(static_cast<unsigned char>(name.front())) ||
      !std::all_of(name.begin(), name.end(), is_part))
    return Refuse("name", name, "may hold letters, digits, '-' and '_' only");
  return absl::OkStatus();
}

absl::Status CheckOneLine(absl::string_view field, absl::string_view text) {
  if (text.find_first_of(absl::string_view("\n\r\0", 3)) != absl::string_view::npos)
    return Refuse(field, text, "contains a line break");
  return absl::OkStatus();
}

}  // namespace muster::agent
