// Filters that write values in other notations: shell, Base64, digests, host lists.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

bool IsShellSafe(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         absl::string_view("@%+=:,./-_").find(c) != absl::string_view::npos;
}

}  // namespace

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

// Hosts whose lines "<prefix><host><rest>" are the same, in the same order, share the lines of the
// first of them, with a host list. Lines without the prefix stay.
FilterResult FoldLines(Call& call) {
  if (!IsText(*call.input) || !IsText(*call.args[0]))
    return absl::InvalidArgumentError("filter 'fold_lines' needs a text and a prefix");
  const std::string text(Text(call.context, *call.input));
  const std::string prefix(Text(call.context, *call.args[0]));
  struct Line {
    std::string host;  // empty: must not be folded
    std::string text;  // the line itself, or the text after the host
  };
  std::vector<Line> lines;
  std::vector<std::string> hosts;                          // in the order of their first lines
  absl::flat_hash_map<std::string, std::string> lines_of;  // by host
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::string_view host = line;
    const size_t end =
        absl::ConsumePrefix(&host, prefix) ? std::min(host.find(' '), host.size()) : 0;
    if (end == 0) {
      lines.push_back({"", std::string(line)});
      continue;
    }
    lines.push_back({std::string(host.substr(0, end)), std::string(host.substr(end))});
    const auto [it, added] = lines_of.try_emplace(lines.back().host);
    if (added) hosts.push_back(it->first);
    absl::StrAppend(&it->second, lines.back().text, "\n");
  }
  absl::flat_hash_map<std::string, std::vector<std::string>> same;  // hosts by their lines
  for (const std::string& host : hosts) same[lines_of[host]].push_back(host);
  std::vector<std::string> out;
  for (const Line& line : lines) {
    if (line.host.empty()) {
      out.push_back(line.text);
    } else if (const auto& sharing = same[lines_of[line.host]]; sharing.front() == line.host) {
      out.push_back(absl::StrCat(prefix, FoldHostlist(sharing), line.text));
    }
  }
  return NewValue(absl::StrJoin(out, "\n"));
}

FilterResult Ternary(Call& call) { return Truth(*call.input) ? call.args[0] : call.args[1]; }

}  // namespace muster::tmpl
