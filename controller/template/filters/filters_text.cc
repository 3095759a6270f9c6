// Filters on text.
#include <re2/re2.h>
#include <bitset>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "controller/template/arithmetic.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

constexpr absl::string_view kWhitespace = " \t\n\r\f\v\x1c\x1d\x1e\x1f";

absl::Status CompilePattern(const Context& context, const std::string& pattern, bool ignore_case,
                            std::unique_ptr<RE2>* out) {
  if (!context.budget.Spend(pattern.size() / 8)) return context.budget.status();
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(int64_t{1} << 20);
  options.set_case_sensitive(!ignore_case);
  *out = std::make_unique<RE2>(pattern, options);
  if ((*out)->ok()) return absl::OkStatus();
  // RE2's message repeats a part of the pattern, which may be a secret.
  return absl::InvalidArgumentError(absl::StrCat(
      "bad regular expression", context.tainted ? "" : ": ", context.tainted ? "" : (*out)->error(),
      " (RE2 syntax: no look-around, no back-references)"));
}

// Python capitalizes letters after these.
bool StartsWord(char before) {
  return absl::ascii_isspace(static_cast<unsigned char>(before)) ||
         absl::string_view("-({[<").find(before) != absl::string_view::npos;
}

}  // namespace

std::string UpperAscii(absl::string_view text) { return absl::AsciiStrToUpper(text); }
std::string LowerAscii(absl::string_view text) { return absl::AsciiStrToLower(text); }

absl::string_view Strip(absl::string_view text, absl::string_view characters, bool left,
                        bool right) {
  if (characters.empty()) characters = kWhitespace;
  std::bitset<256> stripped;
  for (const char character : characters) stripped.set(static_cast<unsigned char>(character));
  const auto is_stripped = [&](char character) {
    return stripped.test(static_cast<unsigned char>(character));
  };
  while (left && !text.empty() && is_stripped(text.front())) text.remove_prefix(1);
  while (right && !text.empty() && is_stripped(text.back())) text.remove_suffix(1);
  return text;
}

absl::StatusOr<std::string> ReplaceText(Context& context, absl::string_view text,
                                        absl::string_view from, absl::string_view to,
                                        int64_t count) {
  std::string out;
  size_t at = 0;
  while (count != 0) {
    size_t found = from.empty() ? at : FindText(text, from, at);
    if (found == absl::string_view::npos) break;
    absl::StrAppend(&out, text.substr(at, found - at), to);
    if (!context.budget.Spend(1) || !context.budget.SpendText(out.size() / 16 + to.size()))
      return context.budget.status();
    if (out.size() > context.budget.limits().max_output) break;
    at = found + from.size();
    if (count > 0) --count;
    if (!from.empty()) continue;
    // Python puts `to` before each character and at the end.
    if (at == text.size()) return out;
    absl::StrAppend(&out, text.substr(at, 1));
    while (++at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80)
      out.push_back(text[at]);
  }
  if (at < text.size()) absl::StrAppend(&out, text.substr(at));
  if (!context.budget.SpendText(out.size())) return context.budget.status();
  return out;
}

FilterResult Upper(Call& call) { return NewValue(UpperAscii(call.Input())); }
FilterResult Lower(Call& call) { return NewValue(LowerAscii(call.Input())); }
FilterResult String(Call& call) {
  if (IsText(*call.input)) return call.input;
  return NewValue(call.Input());
}

FilterResult Title(Call& call) {
  std::string text = LowerAscii(call.Input());
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == 0 || StartsWord(text[i - 1])) text[i] = absl::ascii_toupper(text[i]);
  }
  return NewValue(text);
}

FilterResult Capitalize(Call& call) {
  std::string text = LowerAscii(call.Input());
  if (!text.empty()) text[0] = absl::ascii_toupper(text[0]);
  return NewValue(text);
}

FilterResult Trim(Call& call) {
  ASSIGN_OR_RETURN(const std::string characters, call.TextArg(0, ""));
  const std::string text = call.Input();
  return NewValue(std::string(Strip(text, characters, true, true)));
}

FilterResult Replace(Call& call) {
  ASSIGN_OR_RETURN(const int64_t count, call.IntArg(2, -1));
  const std::string from = ToText(call.context, *call.Arg(0));
  const std::string to = ToText(call.context, *call.Arg(1));
  ASSIGN_OR_RETURN(std::string text, ReplaceText(call.context, call.Input(), from, to, count));
  return NewValue(std::move(text));
}

FilterResult Indent(Call& call) {
  std::string indent(4, ' ');
  if (call.Arg(0) != nullptr && IsText(*call.Arg(0))) {
    indent = std::string(Text(call.context, *call.Arg(0)));
  } else {
    ASSIGN_OR_RETURN(const int64_t width, call.IntArg(0, 4));
    if (width > 1000) return absl::InvalidArgumentError("filter 'indent' indents by at most 1000");
    indent.assign(width > 0 ? static_cast<size_t>(width) : 0, ' ');
  }
  ASSIGN_OR_RETURN(const bool first, call.BoolArg(1, false));
  ASSIGN_OR_RETURN(const bool blank, call.BoolArg(2, false));
  const std::string text = call.Input();
  std::string out = first ? indent : "";
  size_t at = 0;
  while (true) {
    const size_t end = text.find('\n', at);
    absl::StrAppend(&out, text.substr(at, end == std::string::npos ? end : end - at));
    if (!call.context.budget.SpendText(out.size() / 16 + indent.size()))
      return call.context.budget.status();
    if (out.size() > call.context.budget.limits().max_output) break;
    if (end == std::string::npos) break;
    at = end + 1;
    out.push_back('\n');
    const bool is_blank = at == text.size() || text[at] == '\n';
    if (blank || !is_blank) out += indent;
  }
  if (!call.context.budget.SpendText(out.size())) return call.context.budget.status();
  return NewValue(out);
}

FilterResult Format(Call& call) {
  if (!call.rest.named.empty()) {
    return absl::InvalidArgumentError("filter 'format' takes its values by position");
  }
  const Value values = MakeList(call.context, call.rest.positional);
  ASSIGN_OR_RETURN(Value text, FormatPercent(call.context, Value(call.Input()), values));
  return NewValue(std::move(text));
}

// The text after the last '/'.
FilterResult Basename(Call& call) {
  const std::string path = call.Input();
  const size_t slash = path.rfind('/');
  return NewValue(slash == std::string::npos ? path : path.substr(slash + 1));
}

// The text before the last '/', without '/' at its end unless that is all of it.
FilterResult Dirname(Call& call) {
  const std::string path = call.Input();
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return NewValue("");
  const size_t end = path.find_last_not_of('/', slash);
  return NewValue(path.substr(0, end == std::string::npos ? slash + 1 : end + 1));
}

FilterResult RegexReplace(Call& call) {
  ASSIGN_OR_RETURN(const std::string pattern, call.TextArg(0, ""));
  ASSIGN_OR_RETURN(const std::string replacement, call.TextArg(1, ""));
  ASSIGN_OR_RETURN(const bool ignore_case, call.BoolArg(2, false));
  std::unique_ptr<RE2> regex;
  RETURN_IF_ERROR(CompilePattern(call.context, pattern, ignore_case, &regex));
  std::string why;
  if (!regex->CheckRewriteString(replacement, &why)) return absl::InvalidArgumentError(why);

  const std::string text = call.Input();
  const int groups = regex->NumberOfCapturingGroups() + 1;
  std::vector<re2::StringPiece> found(static_cast<size_t>(groups));
  std::string out;
  size_t at = 0;
  bool after_match = false;  // an empty match right after a match does not count
  while (at <= text.size()) {
    // A match may be known only at the end of the text: "a" of the pattern "a.*z|a".
    if (!call.context.budget.Spend(1 + (text.size() - at) / 8192) ||
        !call.context.budget.SpendText(out.size() / 16))
      return call.context.budget.status();
    if (out.size() > call.context.budget.limits().max_output) break;
    if (!regex->Match(text, at, text.size(), RE2::UNANCHORED, found.data(), groups)) break;
    const size_t start = static_cast<size_t>(found[0].data() - text.data());
    absl::StrAppend(&out, text.substr(at, start - at));
    const bool ignored = found[0].empty() && after_match && start == at;
    if (!ignored) regex->Rewrite(&out, replacement, found.data(), groups);
    at = start + found[0].size();
    after_match = !found[0].empty();
    if (!found[0].empty()) continue;
    if (at < text.size()) out.push_back(text[at]);
    ++at;
  }
  if (at < text.size()) out += text.substr(at);
  if (!call.context.budget.SpendText(out.size())) return call.context.budget.status();
  return NewValue(out);
}

absl::StatusOr<bool> MatchesAt(Call& call, const std::string& pattern, bool anchored) {
  std::unique_ptr<RE2> regex;
  RETURN_IF_ERROR(CompilePattern(call.context, pattern, /*ignore_case=*/false, &regex));
  const absl::string_view text = PeekText(*call.input);
  return regex->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(),
                      anchored ? RE2::ANCHOR_START : RE2::UNANCHORED, nullptr, 0);
}

FilterResult RegexSearch(Call& call) {
  ASSIGN_OR_RETURN(const std::string pattern, call.TextArg(0, ""));
  ASSIGN_OR_RETURN(const bool ignore_case, call.BoolArg(1, false));
  std::unique_ptr<RE2> regex;
  RETURN_IF_ERROR(CompilePattern(call.context, pattern, ignore_case, &regex));
  const std::string text = call.Input();
  re2::StringPiece found;
  if (!regex->Match(text, 0, text.size(), RE2::UNANCHORED, &found, 1)) return NewValue("");
  return NewValue(std::string(found.data(), found.size()));
}

}  // namespace muster::tmpl
