// Filters that write values in other notations: JSON, shell, Base64, digests, host lists.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/value/folded_value.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

// The code point of one UTF-8 character; an invalid byte stands for itself.
uint32_t DecodeUtf8(absl::string_view character) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(character[i]));
  };
  switch (character.size()) {
    case 2:
      return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3:
      return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    case 4:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
             (byte(3) & 0x3F);
    default:
      return byte(0);
  }
}

void AppendJsonCharacter(absl::string_view character, std::string* out) {
  constexpr absl::string_view kLetters = "\"\\\n\r\t\f\b";
  constexpr absl::string_view kEscapes = "\"\\nrtfb";
  const size_t simple =
      character.size() == 1 ? kLetters.find(character[0]) : absl::string_view::npos;
  if (simple != absl::string_view::npos) {
    absl::StrAppend(out, "\\", kEscapes.substr(simple, 1));
    return;
  }
  const uint32_t code = DecodeUtf8(character);
  if (code >= 0x10000) {
    const uint32_t rest = code - 0x10000;
    absl::StrAppendFormat(out, "\\u%04x\\u%04x", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  } else if (code < 0x20 || code > 0x7E ||
             absl::string_view("<>&'").find(static_cast<char>(code)) != absl::string_view::npos) {
    // As Jinja2 writes it, which is also safe inside HTML; only 0x7F stays.
    if (code == 0x7F) {
      out->push_back('\x7F');
    } else {
      absl::StrAppendFormat(out, "\\u%04x", code);
    }
  } else {
    out->push_back(static_cast<char>(code));
  }
}

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  for (const absl::string_view character : Characters(text)) AppendJsonCharacter(character, out);
  out->push_back('"');
}

// Python's json.dumps with sorted keys.
class JsonWriter {
 public:
  JsonWriter(Context& context, int64_t indent) : context_(context), indent_(indent) {}

  void Write(const Value& value, int depth) {
    if (!context_.budget.Enter(depth) || !context_.budget.Spend(1)) return;
    if (IsFolded(value)) {
      Write(SpendUnfold(context_, value), depth);
    } else if (IsText(value)) {
      const absl::string_view text = Text(context_, value);
      if (context_.budget.SpendText(out_.size() + 6 * text.size())) AppendJsonString(text, &out_);
    } else if (value.is_array()) {
      out_.push_back('[');
      for (size_t i = 0; i < value.size() && context_.budget.status().ok(); ++i) {
        Separate(i == 0, depth + 1);
        Write(value[i], depth + 1);
      }
      Close(']', value.empty(), depth);
    } else if (value.is_object()) {
      std::vector<std::pair<std::string, const Value*>> entries;
      for (auto entry = value.begin(); entry != value.end(); ++entry)
        entries.emplace_back(entry.key(), &*entry);
      std::sort(entries.begin(), entries.end());
      out_.push_back('{');
      for (size_t i = 0; i < entries.size() && context_.budget.status().ok(); ++i) {
        Separate(i == 0, depth + 1);
        AppendJsonString(entries[i].first, &out_);
        out_ += ": ";
        Write(*entries[i].second, depth + 1);
      }
      Close('}', entries.empty(), depth);
    } else if (value.is_boolean() || value.is_null()) {
      out_ += value.is_null() ? "null" : value.get<bool>() ? "true" : "false";
    } else {
      AppendRepr(context_, value, &out_);
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void Separate(bool first, int depth) {
    if (!first) out_ += indent_ >= 0 ? "," : ", ";
    NewLine(depth);
  }
  void Close(char bracket, bool empty, int depth) {
    if (!empty) NewLine(depth);
    out_.push_back(bracket);
  }
  void NewLine(int depth) {
    if (indent_ >= 0)
      absl::StrAppend(&out_, "\n", std::string(static_cast<size_t>(indent_ * depth), ' '));
  }

  Context& context_;
  const int64_t indent_;
  std::string out_;
};

bool IsShellSafe(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         absl::string_view("@%+=:,./-_").find(c) != absl::string_view::npos;
}

}  // namespace

FilterResult ToJson(Call& call) {
  const bool pretty = call.Arg(0) != nullptr && !call.Arg(0)->is_null();
  int64_t indent = -1;
  if (pretty) {
    ASSIGN_OR_RETURN(indent, call.IntArg(0, -1));
  }
  if (indent > 16) return absl::InvalidArgumentError("filter 'tojson' indents by at most 16");
  JsonWriter writer(call.context, indent);
  writer.Write(*call.input, 0);
  return NewValue(writer.Take());
}

FilterResult Quote(Call& call) {
  const std::string text = call.Input();
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsShellSafe)) return NewValue(text);
  ASSIGN_OR_RETURN(const std::string escaped, ReplaceText(call.context, text, "'", "'\"'\"'", -1));
  return NewValue(absl::StrCat("'", escaped, "'"));
}

FilterResult Base64Encode(Call& call) { return NewValue(absl::Base64Escape(call.Input())); }

FilterResult Hash(Call& call) {
  ASSIGN_OR_RETURN(const std::string algorithm, call.TextArg(0, "sha256"));
  if (algorithm != "sha256") {
    return absl::InvalidArgumentError("filter 'hash' knows 'sha256' only");
  }
  return NewValue(Sha256Hex(call.Input()));
}

FilterResult HostlistExpand(Call& call) {
  if (!call.input->is_string()) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter 'hostlist_expand' needs a string, not ", TypeName(*call.input)));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(PeekText(*call.input)));
  if (!call.context.budget.Spend(names.size())) return call.context.budget.status();
  return NewValue(Value(names));
}

FilterResult HostlistFold(Call& call) {
  ASSIGN_OR_RETURN(const std::vector<ValuePtr> elements, Elements(call.context, call.input));
  std::vector<std::string> names;
  for (const ValuePtr& element : elements) {
    if (!IsText(*element)) {
      return absl::InvalidArgumentError(
          absl::StrCat("filter 'hostlist_fold' needs a list of names, found ", TypeName(*element)));
    }
    names.push_back(std::string(Text(call.context, *element)));
  }
  return NewValue(FoldHostlist(std::move(names)));
}

// Lines "<prefix><host><rest>" that differ only in the host are merged into one with a host list,
// at the position of the first. Other lines stay.
FilterResult FoldLines(Call& call) {
  if (!IsText(*call.input) || !IsText(*call.args[0]))
    return absl::InvalidArgumentError("filter 'fold_lines' needs a text and a prefix");
  const std::string text(Text(call.context, *call.input));
  const std::string prefix(Text(call.context, *call.args[0]));
  struct Line {
    std::string text;                // the line itself, or the text after the host
    std::vector<std::string> hosts;  // empty: must not be folded
  };
  std::vector<Line> lines;
  absl::flat_hash_map<std::string, size_t> by_rest;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, prefix)) {
      lines.push_back({std::string(line), {}});
      continue;
    }
    const size_t end = std::min(line.find(' '), line.size());
    const std::string rest(line.substr(end));
    const auto [it, added] = by_rest.try_emplace(rest, lines.size());
    if (added) lines.push_back({rest, {}});
    lines[it->second].hosts.emplace_back(line.substr(0, end));
  }
  std::vector<std::string> out;
  for (Line& line : lines)
    out.push_back(line.hosts.empty()
                      ? std::move(line.text)
                      : absl::StrCat(prefix, FoldHostlist(std::move(line.hosts)), line.text));
  return NewValue(absl::StrJoin(out, "\n"));
}

FilterResult Ternary(Call& call) { return Truth(*call.input) ? call.args[0] : call.args[1]; }

}  // namespace muster::tmpl
