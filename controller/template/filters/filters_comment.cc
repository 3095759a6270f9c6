// comment: a text as a comment of a configuration file.
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

constexpr int64_t kMaxFrameLines = 100;

struct CommentStyle {
  const char* name;
  const char* decoration;  // before each line
  const char* beginning = "";
  const char* end = "";
};
constexpr CommentStyle kCommentStyles[] = {
    {"plain", "# "},
    {"c", "// "},
    {"cblock", " * ", "/*", " */"},
    {"erlang", "% "},
    {"xml", " - ", "<!--", "-->"},
};

absl::StatusOr<const CommentStyle*> FindStyle(const Call& call) {
  ASSIGN_OR_RETURN(const std::string name, call.TextArg(0, "plain"));
  std::vector<std::string> names;
  for (const CommentStyle& style : kCommentStyles) {
    if (style.name == name) return &style;
    names.emplace_back(style.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("filter 'comment' knows no such style",
                   call.Arg(0)->is_string() ? DidYouMean(name, names) : "",
                   "; it is plain, c, cblock, erlang or xml"));
}

absl::StatusOr<int64_t> FrameLines(const Call& call, size_t index) {
  ASSIGN_OR_RETURN(const int64_t lines, call.IntArg(index, 1));
  if (lines <= kMaxFrameLines) return lines;
  return absl::InvalidArgumentError(
      absl::StrCat("filter 'comment' repeats a line at most ", kMaxFrameLines, " times"));
}

}  // namespace

// The arguments are style, decoration, prefix, prefix_count, postfix, postfix_count, beginning and
// end. An empty beginning, prefix or end gives no line, an empty postfix gives empty lines.
FilterResult Comment(Call& call) {
  ASSIGN_OR_RETURN(const CommentStyle* style, FindStyle(call));
  ASSIGN_OR_RETURN(const std::string decoration, call.TextArg(1, style->decoration));
  const absl::string_view bare = Strip(decoration, "", /*left=*/false, /*right=*/true);
  ASSIGN_OR_RETURN(const std::string prefix, call.TextArg(2, bare));
  ASSIGN_OR_RETURN(const int64_t prefix_count, FrameLines(call, 3));
  ASSIGN_OR_RETURN(const std::string postfix, call.TextArg(4, bare));
  ASSIGN_OR_RETURN(const int64_t postfix_count, FrameLines(call, 5));
  ASSIGN_OR_RETURN(const std::string beginning, call.TextArg(6, style->beginning));
  ASSIGN_OR_RETURN(const std::string end, call.TextArg(7, style->end));

  ASSIGN_OR_RETURN(const std::string lines, ReplaceText(call.context, call.Input(), "\n",
                                                        absl::StrCat("\n", decoration), -1));
  // A line that has only the decoration ends without spaces.
  ASSIGN_OR_RETURN(const std::string body,
                   ReplaceText(call.context, absl::StrCat(decoration, lines),
                               absl::StrCat(decoration, "\n"), absl::StrCat(bare, "\n"), -1));
  std::string out;
  if (!beginning.empty()) absl::StrAppend(&out, beginning, "\n");
  for (int64_t i = 0; i < prefix_count && !prefix.empty(); ++i) {
    if (!call.context.budget.SpendMore(out.size(), prefix.size() + 1)) break;
    absl::StrAppend(&out, prefix, prefix == "\n" ? "" : "\n");
  }
  out += body;
  for (int64_t i = 0; i < postfix_count; ++i) {
    if (!call.context.budget.SpendMore(out.size(), postfix.size() + 1)) break;
    absl::StrAppend(&out, "\n", postfix);
  }
  if (!end.empty()) absl::StrAppend(&out, "\n", end);
  return NewValue(std::move(out));
}

}  // namespace muster::tmpl
