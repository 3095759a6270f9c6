#include "agent/resources/line_edit.h"

#include <utility>
#include <vector>

#include <re2/re2.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

struct TextLine {
  std::string text;
  std::string end;  // "" for a last line without one
};

std::vector<TextLine> Split(absl::string_view text) {
  std::vector<TextLine> lines;
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    TextLine line;
    if (newline == absl::string_view::npos) {
      line.text = std::string(text);
    } else {
      const bool dos = newline > 0 && text[newline - 1] == '\r';
      line.text = std::string(text.substr(0, newline - (dos ? 1 : 0)));
      line.end = dos ? "\r\n" : "\n";
    }
    text.remove_prefix(newline == absl::string_view::npos ? text.size() : newline + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string Join(const std::vector<TextLine>& lines) {
  std::string text;
  for (const TextLine& line : lines) absl::StrAppend(&text, line.text, line.end);
  return text;
}

absl::StatusOr<std::unique_ptr<re2::RE2>> Compile(absl::string_view field,
                                                  const std::string& pattern) {
  if (pattern.empty()) return std::unique_ptr<re2::RE2>();
  RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_unique<RE2>(pattern, options);
  if (!regex->ok())
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": '", pattern, "' is not a regular expression: ", regex->error()));
  return regex;
}

bool Found(const re2::RE2& regex, absl::string_view line) {
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), regex);
}

// "key value", "key=value", "key: value", "key".
bool HasKey(absl::string_view line, const std::string& key) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, key)) return false;
  return line.empty() || absl::ascii_isspace(line[0]) || line[0] == '=' || line[0] == ':';
}

// Inserts a line that replaces no other: `index` is an index into `lines`.
void Insert(std::vector<TextLine>& lines, size_t index, const std::string& text) {
  const std::string end = lines.empty() || lines.front().end.empty() ? "\n" : lines.front().end;
  TextLine line = {text, end};
  if (index > 0 && lines[index - 1].end.empty()) {
    // After a last line without an end: the new last line has none either.
    lines[index - 1].end = end;
    line.end = "";
  }
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(index), std::move(line));
}

}  // namespace

LineEdit::LineEdit(const v1::LineResource& spec) : spec_(spec) {}
LineEdit::LineEdit(LineEdit&&) noexcept = default;
LineEdit::~LineEdit() = default;

absl::StatusOr<LineEdit> LineEdit::Make(const v1::LineResource& spec) {
  const bool absent = spec.state() == v1::PRESENCE_ABSENT;
  if (spec.line().find_first_of("\r\n") != std::string::npos)  // not shown: may be a secret
    return absl::InvalidArgumentError("line: contains a line break; write a task for each line");
  RETURN_IF_ERROR(CheckOneLine("key", spec.key()));
  if (!spec.match().empty() && !spec.key().empty())
    return absl::InvalidArgumentError("match: excludes key");
  if (spec.line().empty() && (!absent || (spec.match().empty() && spec.key().empty())))
    return absl::InvalidArgumentError("line: is empty");
  if (!absent && !spec.key().empty() && !HasKey(spec.line(), spec.key()))
    return absl::InvalidArgumentError(absl::StrCat("key: the line does not begin with '",
                                                   spec.key(),
                                                   "', so it would not be found the next time"));
  LineEdit edit(spec);
  ASSIGN_OR_RETURN(edit.match_, Compile("match", spec.match()));
  ASSIGN_OR_RETURN(edit.insert_after_, Compile("insert_after", spec.insert_after()));
  return edit;
}

bool LineEdit::Matches(absl::string_view line) const {
  if (match_ != nullptr) return Found(*match_, line);
  if (!spec_.key().empty()) return HasKey(line, spec_.key());
  return line == spec_.line();
}

std::optional<LineChange> LineEdit::Apply(absl::string_view text) const {
  std::vector<TextLine> lines = Split(text);
  std::vector<size_t> found;
  bool is_there = false;
  std::optional<size_t> behind;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (Matches(lines[i].text)) found.push_back(i);
    is_there = is_there || lines[i].text == spec_.line();
    if (insert_after_ != nullptr && Found(*insert_after_, lines[i].text)) behind = i;
  }

  if (spec_.state() == v1::PRESENCE_ABSENT) {
    if (found.empty()) return std::nullopt;
    LineChange change = {.after = "absent"};
    change.before = found.size() == 1 ? lines[found[0]].text : absl::StrCat(found.size(), " lines");
    const bool ended = lines.back().end != "";
    for (auto it = found.rbegin(); it != found.rend(); ++it)
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(*it));
    if (!ended && !lines.empty()) lines.back().end = "";
    change.content = Join(lines);
    return change;
  }

  LineChange change = {.before = "absent", .after = spec_.line()};
  if (!found.empty()) {
    TextLine& last = lines[found.back()];
    if (last.text == spec_.line()) return std::nullopt;
    change.before = std::exchange(last.text, spec_.line());
  } else {
    if (is_there) return std::nullopt;
    Insert(lines, behind.has_value() ? *behind + 1 : lines.size(), spec_.line());
  }
  change.content = Join(lines);
  return change;
}

}  // namespace muster::agent
