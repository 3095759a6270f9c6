#include "cli/inventory_edit/yaml_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"

namespace muster::cli {
namespace {

constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";

size_t Indentation(absl::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// Blank, or nothing but a comment.
bool IsRemark(absl::string_view line) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
  return text.empty() || text[0] == '#';
}

// The line without its newline.
absl::string_view LineAt(absl::string_view text, size_t offset) {
  return text.substr(offset, text.substr(offset).find('\n'));
}

// After the line's newline, or at the end of the text.
size_t NextLine(absl::string_view text, size_t offset) {
  const size_t newline = text.find('\n', offset);
  return newline == absl::string_view::npos ? text.size() : newline + 1;
}

// What begins a comment at the end of a line: '#' after a blank and outside of quotes.
absl::string_view WithoutComment(absl::string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == quote) quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      // Elsewhere, as in "it's", it is a letter.
      if (i == 0 || absl::StrContains(" [{,:", line[i - 1])) quote = line[i];
    } else if (line[i] == '#' && i > 0 && absl::ascii_isspace(line[i - 1])) {
      return absl::StripTrailingAsciiWhitespace(line.substr(0, i));
    }
  }
  return line;
}

// Whether plain text would be read otherwise inside of { } or [ ].
bool NeedsQuotes(const std::string& before, const std::string& after) {
  const auto has_marks = [](const std::string& text) {
    return text.find_first_of("[],{}:#&*!|>'\"%@` ") != std::string::npos;
  };
  // Where plain text with brackets stands, it is read as such.
  return has_marks(after) && !has_marks(before);
}

bool IsSame(const yaml::Node& a, const yaml::Node& b) {
  if (a.kind() != b.kind() || a.text() != b.text() || a.items().size() != b.items().size() ||
      a.entries().size() != b.entries().size())
    return false;
  for (size_t i = 0; i < a.items().size(); ++i)
    if (!IsSame(a.items()[i], b.items()[i])) return false;
  for (size_t i = 0; i < a.entries().size(); ++i)
    if (a.entries()[i].key != b.entries()[i].key ||
        !IsSame(a.entries()[i].value, b.entries()[i].value))
      return false;
  return true;
}

}  // namespace

absl::StatusOr<YamlText> YamlText::Parse(const std::string& file, const std::string& text) {
  YamlText result;
  result.has_byte_order_mark_ = absl::StartsWith(text, kByteOrderMark);
  ASSIGN_OR_RETURN(result.document_, yaml::Document::Parse(file, text));
  return result;
}

absl::Status YamlText::Replace(const yaml::Node& scalar, const std::string& text) {
  return ReplaceAt(scalar.mark(), scalar.text(), text);
}

absl::Status YamlText::ReplaceKey(const yaml::Entry& entry, const std::string& text) {
  return ReplaceAt(entry.key_mark, entry.key, text);
}

absl::Status YamlText::ReplaceAt(yaml::Mark mark, const std::string& before,
                                 const std::string& after) {
  ASSIGN_OR_RETURN(Edit edit, ScalarEdit(mark, before, after));
  const auto [at, is_new] = edits_.try_emplace(Offset(mark), std::move(edit));
  if (!is_new && at->second.text != edit.text)
    return document_.Error(mark, absl::StrCat("'", before,
                                              "' stands for several lists (an alias), which "
                                              "would have to differ; write them out"));
  return absl::OkStatus();
}

absl::StatusOr<YamlText::Edit> YamlText::ScalarEdit(yaml::Mark mark, const std::string& before,
                                                    const std::string& after) const {
  const absl::string_view rest = absl::string_view(document_.text()).substr(Offset(mark));
  for (const char* quote : {"\"", "'"}) {
    const std::string written = absl::StrCat(quote, before, quote);
    if (absl::StartsWith(rest, written))
      return Edit{written.size(), absl::StrCat(quote, after, quote)};
  }
  const absl::string_view behind = rest.substr(std::min(before.size(), rest.size()));
  if (!absl::StartsWith(rest, before) ||
      !(behind.empty() || absl::StrContains(" \t\r\n,:]}", behind[0])))
    return document_.Error(mark, absl::StrCat("'", before,
                                              "' is written in a way that is not changed "
                                              "automatically; change it by hand"));
  return Edit{before.size(), NeedsQuotes(before, after) ? absl::StrCat("\"", after, "\"") : after};
}

size_t YamlText::Offset(yaml::Mark mark) const {
  size_t offset = 0;
  for (int line = 1; line < mark.line; ++line) offset = NextLine(document_.text(), offset);
  return std::min(offset + static_cast<size_t>(std::max(mark.column, 1) - 1),
                  document_.text().size());
}

YamlText::Lines YamlText::LinesOf(const yaml::Entry& entry) const {
  const absl::string_view text = document_.text();
  Lines lines;
  lines.begin = Offset({entry.key_mark.line, 1});
  lines.end = NextLine(text, lines.begin);
  const size_t indentation = Indentation(LineAt(text, lines.begin));
  for (size_t next = lines.end; next < text.size(); next = NextLine(text, next)) {
    const absl::string_view line = LineAt(text, next);
    if (IsRemark(line)) continue;
    if (Indentation(line) <= indentation) break;
    lines.end = NextLine(text, next);
  }
  return lines;
}

bool YamlText::StandsAlone(const yaml::Node& map, const yaml::Entry& entry) const {
  const absl::string_view text = document_.text();
  if (absl::StartsWith(text.substr(Offset(map.mark())), "{")) return false;
  const Lines lines = LinesOf(entry);
  const absl::StatusOr<yaml::Document> alone =
      yaml::Document::Parse("", text.substr(lines.begin, lines.end - lines.begin));
  // Not so where it refers to an anchor.
  return alone.ok() && alone->root().entries().size() == 1 &&
         alone->root().entries()[0].key == entry.key &&
         IsSame(alone->root().entries()[0].value, entry.value);
}

absl::Status YamlText::CopyEntry(const yaml::Entry& entry, const std::string& key,
                                 const std::map<std::string, std::string>& values,
                                 const std::map<std::string, std::string>& written) {
  const absl::string_view text = document_.text();
  const Lines lines = LinesOf(entry);
  std::map<size_t, Edit> changes;
  ASSIGN_OR_RETURN(changes[Offset(entry.key_mark)], ScalarEdit(entry.key_mark, entry.key, key));
  for (const auto& [name, value] : values) {
    const yaml::Node* old = entry.value.Find(name);
    if (old == nullptr) continue;
    ASSIGN_OR_RETURN(changes[Offset(old->mark())], ScalarEdit(old->mark(), old->text(), value));
  }
  std::string added;
  for (const auto& [name, value] : written) {
    const yaml::Node* old = entry.value.Find(name);
    if (old != nullptr) {
      absl::StatusOr<Edit> edit = ListEdit(*old, value, name);
      if (!edit.ok())
        return document_.Error(
            old->mark(), absl::StrCat("`", name, "` of ", entry.key,
                                      " is written in a way that is not copied automatically; "
                                      "write the entry of ",
                                      key, " by hand"));
      changes[Offset(old->mark())] = *std::move(edit);
    } else {
      absl::StrAppend(&added, name, ": ", value, "\n");
    }
  }
  if (!added.empty()) {
    if (entry.value.entries().empty())
      return document_.Error(
          entry.key_mark, absl::StrCat("the entry of ", entry.key,
                                       " has nothing to copy; write the one of ", key, " by hand"));
    const size_t first = Offset(entry.value.mark());
    const bool is_flow = text[first] == '{';
    const std::string separator =
        is_flow ? ", "
                : absl::StrCat(
                      "\n", std::string(static_cast<size_t>(entry.value.mark().column - 1), ' '));
    // Nothing else is changed there: in brackets the first key follows, otherwise it is the
    // entry's, which stays.
    changes[first + (is_flow ? 1 : 0)] = {0, absl::StrReplaceAll(added, {{"\n", separator}})};
  }
  std::string copy;
  size_t at = lines.begin;
  for (const auto& [offset, edit] : changes) {
    absl::StrAppend(&copy, text.substr(at, offset - at), edit.text);
    at = offset + edit.length;
  }
  absl::StrAppend(&copy, text.substr(at, lines.end - at));
  std::string plain;
  for (const absl::string_view line : absl::StrSplit(copy, '\n'))
    if (!IsRemark(line)) absl::StrAppend(&plain, WithoutComment(line), "\n");
  // What the comments were taken out of has to be what it was.
  const absl::StatusOr<yaml::Document> with = yaml::Document::Parse("", copy);
  const absl::StatusOr<yaml::Document> without = yaml::Document::Parse("", plain);
  if (!with.ok() || !without.ok() || !IsSame(with->root(), without->root()))
    return document_.Error(entry.key_mark, absl::StrCat("the entry of ", entry.key,
                                                        " is not copied automatically; write the "
                                                        "one of ",
                                                        key, " by hand"));
  const bool is_last_line_open = lines.end == text.size() && !absl::EndsWith(text, "\n");
  std::string& copies = edits_[lines.end].text;
  absl::StrAppend(&copies, is_last_line_open && copies.empty() ? "\n" : "", plain);
  return absl::OkStatus();
}

absl::Status YamlText::ByHand(yaml::Mark mark, const std::string& what) const {
  return document_.Error(mark, absl::StrCat(what,
                                            " is written in a way that is not changed "
                                            "automatically; remove it by hand"));
}

absl::Status YamlText::RemoveEntry(const yaml::Node& map, const yaml::Entry& entry) {
  if (!StandsAlone(map, entry)) return ByHand(entry.key_mark, absl::StrCat("'", entry.key, "'"));
  const Lines lines = LinesOf(entry);
  edits_[lines.begin] = {lines.end - lines.begin, ""};
  return absl::OkStatus();
}

absl::Status YamlText::RemoveItem(const yaml::Node& item) {
  const absl::string_view text = document_.text();
  size_t begin = Offset(item.mark());
  ASSIGN_OR_RETURN(const Edit scalar, ScalarEdit(item.mark(), item.text(), ""));
  size_t end = begin + scalar.length;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  size_t line = Offset({item.mark().line, 1});
  const absl::string_view before =
      absl::StripLeadingAsciiWhitespace(text.substr(line, begin - line));
  const absl::string_view behind = WithoutComment(text.substr(end, text.find('\n', end) - end));
  if (absl::StripAsciiWhitespace(before) == "-" &&
      absl::StripAsciiWhitespace(behind).empty()) {  // a line of its own
    edits_[line] = {NextLine(text, line) - line, ""};
    return absl::OkStatus();
  }
  while (end < text.size() && is_blank(text[end])) ++end;
  if (end < text.size() && text[end] == ',') {
    ++end;
    while (end < text.size() && is_blank(text[end])) ++end;
  } else {
    while (begin > line && is_blank(text[begin - 1])) --begin;
    if (begin == line || text[begin - 1] != ',')
      return ByHand(item.mark(), absl::StrCat("'", item.text(), "'"));
    // The comma may have gone with the item before; YAML takes one after the last item.
    const auto covering = edits_.upper_bound(begin - 1);
    const bool is_gone =
        covering != edits_.begin() &&
        std::prev(covering)->first + std::prev(covering)->second.length > begin - 1;
    begin = is_gone ? Offset(item.mark()) : begin - 1;
  }
  edits_[begin] = {end - begin, ""};
  return absl::OkStatus();
}

absl::StatusOr<YamlText::Edit> YamlText::ListEdit(const yaml::Node& list, const std::string& text,
                                                  const std::string& what) const {
  const size_t begin = Offset(list.mark());
  if (list.IsScalar()) {
    ASSIGN_OR_RETURN(Edit edit, ScalarEdit(list.mark(), list.text(), ""));
    return Edit{edit.length, text};
  }
  // Brackets within the list are in quotes, or it would not be one.
  const absl::string_view rest = absl::string_view(document_.text()).substr(begin);
  const size_t close = rest.find(
      ']', list.items().empty()
               ? 0
               : Offset(list.items().back().mark()) - begin + list.items().back().text().size());
  if (!absl::StartsWith(rest, "[") || close == absl::string_view::npos)
    return ByHand(list.mark(), what);
  return Edit{close + 1, text};
}

absl::Status YamlText::ReplaceList(const yaml::Node& list, const std::string& text) {
  ASSIGN_OR_RETURN(edits_[Offset(list.mark())],
                   ListEdit(list, text, "this list, of which nothing is left,"));
  return absl::OkStatus();
}

std::string YamlText::Edited() const {
  const absl::string_view text = document_.text();
  std::string edited = has_byte_order_mark_ ? kByteOrderMark : "";
  size_t at = 0;
  for (const auto& [offset, edit] : edits_) {
    absl::StrAppend(&edited, text.substr(at, offset - at), edit.text);
    at = offset + edit.length;
  }
  absl::StrAppend(&edited, text.substr(at));
  return edited;
}

}  // namespace muster::cli
