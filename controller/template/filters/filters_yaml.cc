// to_nice_yaml: YAML in block style, as libyaml writes it for Ansible.
//
// Text that a reader of YAML 1.2, such as ours, would take for something else is quoted as well:
// 0o17, 1e3.
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/status.h"
#include "common/base/text/utf8.h"
#include "common/value/folded_value.h"
#include "common/yaml/value.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

// A longer key is written after "? ".
constexpr size_t kMaxSimpleKey = 128;

// Plain text that YAML 1.1 reads as something other than a string.
const RE2& NotAString() {
  static const RE2* const kPattern = new RE2(
      "~|[nN]ull|NULL|<<|=|[!&*]"
      "|[yY]es|YES|[nN]o|NO|[tT]rue|TRUE|[fF]alse|FALSE|[oO]n|ON|[oO]ff|OFF"
      "|[-+]?0b[01_]+|[-+]?0x[0-9a-fA-F_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)"
      "|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+"
      "|[-+]?[0-9][0-9_]*\\.[0-9_]*(?:[eE][-+][0-9]+)?|\\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
      "|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\\.[0-9_]*|[-+]?\\.(?:inf|Inf|INF)|\\.(?:nan|NaN|NAN)"
      "|[0-9]{4}-[0-9]{2}-[0-9]{2}"
      "|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]*)?"
      "(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?");
  return *kPattern;
}

bool ReadsAsString(absl::string_view text) {
  return !RE2::FullMatch(re2::StringPiece(text.data(), text.size()), NotAString()) &&
         yaml::PlainValue(text).is_string();
}

size_t CountCharacters(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool IsSpaceOrBreak(char c) { return c == ' ' || c == '\n'; }

// How a text may be written: plainly, in single quotes, or else in double quotes.
struct TextForm {
  bool multiline = false;
  bool plain = true;
  bool single_quoted = true;
};

// Whether the character can stand for itself within single quotes or none.
bool IsPrintable(uint32_t code) {
  if (code < 0x80) return code == '\n' || (code >= 0x20 && code <= 0x7E);
  return code >= 0xA0 && code < 0xFFFE && code != 0x2028 && code != 0x2029 && code != 0xFEFF;
}

// False when the text is not UTF-8.
bool FindForm(absl::string_view text, TextForm* form) {
  bool indicators = absl::StartsWith(text, "---") || absl::StartsWith(text, "...");
  bool special = false, space_then_break = false, break_then_space = false;
  for (size_t at = 0; at < text.size();) {
    const size_t length = CharacterBytes(text.substr(at));
    if (length == 0) return false;
    special = special || !IsPrintable(DecodeUtf8(text.substr(at, length)));
    const char c = text[at];
    const char before = at > 0 ? text[at - 1] : ' ';
    const char after = at + length < text.size() ? text[at + length] : ' ';
    form->multiline = form->multiline || c == '\n';
    space_then_break = space_then_break || (at > 0 && before == ' ' && c == '\n');
    break_then_space = break_then_space || (before == '\n' && c == ' ');
    if (at == 0) {
      indicators =
          indicators || absl::string_view("#,[]{}&*!|>'\"%@`").find(c) != absl::string_view::npos;
      indicators = indicators || ((c == '?' || c == '-') && IsSpaceOrBreak(after));
    }
    indicators = indicators || (c == ':' && IsSpaceOrBreak(after));
    indicators = indicators || (c == '#' && IsSpaceOrBreak(before));
    at += length;
  }
  const bool edges = text.empty() || IsSpaceOrBreak(text.front()) || IsSpaceOrBreak(text.back());
  // yaml-cpp, which reads our own YAML, loses line breaks at the end of text in single quotes.
  const bool breaks_at_end = text == "\n" || absl::EndsWith(text, "\n\n");
  form->single_quoted = !special && !space_then_break && !break_then_space && !breaks_at_end;
  form->plain =
      form->single_quoted && !edges && !indicators && !form->multiline && ReadsAsString(text);
  return true;
}

std::string EscapedCharacter(absl::string_view character) {
  constexpr absl::string_view kCodes("\0\a\b\t\n\v\f\r\x1B\"\\", 11);
  constexpr absl::string_view kLetters = "0abtnvfre\"\\";
  const size_t known = character.size() == 1 ? kCodes.find(character[0]) : absl::string_view::npos;
  if (known != absl::string_view::npos) return absl::StrCat("\\", kLetters.substr(known, 1));
  const uint32_t code = DecodeUtf8(character);
  // Not \N for U+0085: yaml-cpp, which reads our own YAML, makes a single byte of it.
  if (code == 0x2028) return "\\L";
  if (code == 0x2029) return "\\P";
  if (code <= 0xFF) return absl::StrFormat("\\x%02X", code);
  return code <= 0xFFFF ? absl::StrFormat("\\u%04X", code) : absl::StrFormat("\\U%08X", code);
}

bool NeedsEscape(absl::string_view character) {
  const uint32_t code = DecodeUtf8(character);
  return code == '"' || code == '\\' || code == '\n' || !IsPrintable(code);
}

struct YamlStyle {
  int indent = 4;
  size_t width = 80;
  bool sorted = true;
};

// The position of a node: it decides how far a list is indented and whether text may be folded.
enum class Spot { kRoot, kItem, kKey, kComplexKey, kValue };

class YamlWriter {
 public:
  YamlWriter(Context& context, const YamlStyle& style) : context_(context), style_(style) {}

  FilterResult WriteDocument(const Value& value) {
    WriteNode(value, -style_.indent, Spot::kRoot, 0);
    NewLine(0);
    RETURN_IF_ERROR(status_);
    return NewValue(std::move(out_));
  }

 private:
  bool ok() const { return status_.ok() && context_.budget.status().ok(); }

  // `indent` is that of the list or map around the node.
  void WriteNode(const Value& value, int indent, Spot spot, int depth) {
    if (!context_.budget.Enter(depth) || !context_.budget.Spend(1)) return;
    if (IsFolded(value)) {
      WriteNode(SpendUnfold(context_, value), indent, spot, depth);
    } else if (IsText(value)) {
      WriteText(Text(context_, value), indent, spot);
    } else if (value.is_structured() && value.empty()) {
      Indicator(value.is_array() ? "[]" : "{}");
    } else if (value.is_array()) {
      // The items of a list under a simple key stand below the key.
      const int inner = spot == Spot::kValue && !indention_ ? indent : indent + style_.indent;
      for (const Value& item : value) {
        if (!ok()) return;
        NewLine(inner);
        Indicator("-", /*starts_line=*/true);
        WriteNode(item, inner, Spot::kItem, depth + 1);
      }
    } else if (value.is_object()) {
      WriteMap(value, indent + style_.indent, depth);
    } else {
      WritePlain(NumberOrWord(value), indent, spot);
    }
  }

  void WriteMap(const Value& map, int indent, int depth) {
    std::vector<std::pair<absl::string_view, const Value*>> entries;
    for (auto entry = map.begin(); entry != map.end(); ++entry)
      entries.emplace_back(entry.key(), &*entry);
    if (style_.sorted) std::sort(entries.begin(), entries.end());
    for (const auto& [key, value] : entries) {
      if (!ok()) return;
      NewLine(indent);
      const bool simple =
          key.find_first_of("\r\n") == absl::string_view::npos && key.size() <= kMaxSimpleKey;
      if (simple) {
        WriteText(key, indent, Spot::kKey);
        Write(":");
      } else {
        Indicator("?", /*starts_line=*/true);
        WriteText(key, indent, Spot::kComplexKey);
        NewLine(indent);
        Indicator(":", /*starts_line=*/true);
      }
      WriteNode(*value, indent, Spot::kValue, depth + 1);
    }
  }

  std::string NumberOrWord(const Value& value) {
    if (value.is_null()) return "null";
    if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
    if (value.is_number_float() && !std::isfinite(value.get<double>())) {
      status_ = absl::InvalidArgumentError("filter 'to_nice_yaml' writes no infinite numbers");
    }
    std::string text;
    AppendRepr(context_, value, &text);
    // YAML 1.1 takes 1e+16 for text.
    if (!absl::StrContains(text, '.')) return absl::StrReplaceAll(text, {{"e", ".0e"}});
    return text;
  }

  void WriteText(absl::string_view text, int indent, Spot spot) {
    if (!context_.budget.SpendMore(out_.size(), 4 * text.size())) return;
    TextForm form;
    if (!FindForm(text, &form)) {
      status_ = absl::InvalidArgumentError("filter 'to_nice_yaml' needs text that is UTF-8");
      return;
    }
    if (form.plain) {
      WritePlain(text, indent, spot);
    } else if (form.single_quoted && !(spot == Spot::kKey && form.multiline)) {
      WriteSingleQuoted(text, indent, spot);
    } else {
      WriteDoubleQuoted(text, indent, spot);
    }
  }

  // The indentation of the later lines of a text.
  int FoldIndent(int indent) const { return std::max(indent, 0) + style_.indent; }

  void WritePlain(absl::string_view text, int indent, Spot spot) {
    if (!whitespace_) Write(" ");
    whitespace_ = indention_ = false;
    WriteFolded(text, indent, spot, /*quoted=*/false);
  }

  void WriteSingleQuoted(absl::string_view text, int indent, Spot spot) {
    Indicator("'");
    WriteFolded(text, indent, spot, /*quoted=*/true);
    Write("'");
    whitespace_ = indention_ = false;
  }

  // Text in which a line may end at a single space once it is too long, and in which an empty line
  // stands for each line break.
  void WriteFolded(absl::string_view text, int indent, Spot spot, bool quoted) {
    for (size_t at = 0; at < text.size() && ok();) {
      const bool spaces = text[at] == ' ';
      const bool breaks = text[at] == '\n';
      size_t end = at;
      while (end < text.size() && (text[end] == ' ') == spaces && (text[end] == '\n') == breaks)
        ++end;
      if (breaks) {
        Break();
        for (; at < end; ++at) Break();
        NewLine(FoldIndent(indent));
        whitespace_ = indention_ = false;
      } else if (spaces && end == at + 1 && column_ > style_.width && spot != Spot::kKey &&
                 at > 0 && end < text.size()) {
        NewLine(FoldIndent(indent));
        whitespace_ = indention_ = false;
      } else if (quoted) {
        Write(absl::StrReplaceAll(text.substr(at, end - at), {{"'", "''"}}));
      } else {
        Write(text.substr(at, end - at));
      }
      at = end;
    }
  }

  // A line may end at the first of several spaces; a backslash keeps the next one.
  void WriteDoubleQuoted(absl::string_view text, int indent, Spot spot) {
    Indicator("\"");
    char before = '"';
    for (size_t at = 0; at < text.size() && ok();) {
      const absl::string_view character = text.substr(at, CharacterBytes(text.substr(at)));
      if (text[at] == ' ' && before != ' ' && column_ > style_.width && spot != Spot::kKey &&
          at > 0 && at + 1 < text.size()) {
        NewLine(FoldIndent(indent));
        if (text[at + 1] == ' ') Write("\\");
        whitespace_ = indention_ = false;
      } else if (NeedsEscape(character)) {
        Write(EscapedCharacter(character));
      } else {
        Write(character);
      }
      before = text[at];
      at += character.size();
    }
    Write("\"");
  }

  void Write(absl::string_view text) {
    if (!context_.budget.SpendMore(out_.size(), text.size())) return;
    absl::StrAppend(&out_, text);
    column_ += CountCharacters(text);
    if (!text.empty()) whitespace_ = indention_ = false;
  }
  void Break() {
    out_.push_back('\n');
    column_ = 0;
    whitespace_ = indention_ = true;
  }
  // A sign of YAML's own, with a space before it. `starts_line`: what follows may be the first on
  // its line, as after "-".
  void Indicator(absl::string_view sign, bool starts_line = false) {
    const bool indention = indention_ && starts_line;
    if (!whitespace_) Write(" ");
    Write(sign);
    indention_ = indention;
  }
  // Moves to the column on a new line; or on this one, if only signs stand before it.
  void NewLine(int indent) {
    const size_t column = static_cast<size_t>(std::max(indent, 0));
    if (!indention_ || column_ > column || (column_ == column && !whitespace_)) Break();
    if (column_ >= column || !context_.budget.SpendMore(out_.size(), column)) return;
    out_.append(column - column_, ' ');
    column_ = column;
    whitespace_ = true;
  }

  Context& context_;
  const YamlStyle style_;
  std::string out_;
  size_t column_ = 0;
  bool whitespace_ = true;  // the last character was a space or a line break
  bool indention_ = true;   // only spaces and signs were on this line so far
  absl::Status status_;
};

}  // namespace

FilterResult ToNiceYaml(Call& call) {
  ASSIGN_OR_RETURN(const int64_t indent, call.IntArg(0, 4));
  ASSIGN_OR_RETURN(const int64_t width, call.IntArg(1, 80));
  YamlStyle style;
  ASSIGN_OR_RETURN(style.sorted, call.BoolArg(2, true));
  if (indent < 2 || indent > 9) {
    return absl::InvalidArgumentError("filter 'to_nice_yaml' indents by 2 to 9");
  }
  style.indent = static_cast<int>(indent);
  if (width > 2 * indent) style.width = static_cast<size_t>(width);
  YamlWriter writer(call.context, style);
  return writer.WriteDocument(*call.input);
}

}  // namespace muster::tmpl
