// The handlers in the table of filters, by theme. See call.h for their contract.
#pragma once

#include "controller/template/call.h"

namespace muster::tmpl {

using FilterResult = absl::StatusOr<ValuePtr>;

// filters_text.cc
FilterResult Upper(Call& call);
FilterResult Lower(Call& call);
FilterResult Title(Call& call);
FilterResult Capitalize(Call& call);
FilterResult Trim(Call& call);
FilterResult Replace(Call& call);
FilterResult String(Call& call);
FilterResult Indent(Call& call);
FilterResult Format(Call& call);
FilterResult Basename(Call& call);
FilterResult Dirname(Call& call);
FilterResult RegexReplace(Call& call);
FilterResult RegexSearch(Call& call);

// filters_number.cc
FilterResult Int(Call& call);
FilterResult Float(Call& call);
FilterResult Bool(Call& call);
FilterResult Round(Call& call);
FilterResult Abs(Call& call);

// filters_list.cc
FilterResult Join(Call& call);
FilterResult LengthOf(Call& call);
FilterResult List(Call& call);
FilterResult First(Call& call);
FilterResult Last(Call& call);
FilterResult Reverse(Call& call);
FilterResult Items(Call& call);
FilterResult Sum(Call& call);

// filters_order.cc
FilterResult Min(Call& call);
FilterResult Max(Call& call);
FilterResult Sort(Call& call);
FilterResult Unique(Call& call);
FilterResult DictSort(Call& call);
FilterResult GroupBy(Call& call);

// filters_select.cc
FilterResult Map(Call& call);
FilterResult Select(Call& call);
FilterResult Reject(Call& call);
FilterResult SelectAttr(Call& call);
FilterResult RejectAttr(Call& call);

// filters_sets.cc
FilterResult Union(Call& call);
FilterResult Difference(Call& call);
FilterResult Intersect(Call& call);
FilterResult Zip(Call& call);
FilterResult ZipLongest(Call& call);
FilterResult Flatten(Call& call);

// filters_dict.cc
FilterResult Combine(Call& call);
FilterResult DictToItems(Call& call);
FilterResult ItemsToDict(Call& call);

// filters_json.cc
FilterResult ToJsonForHtml(Call& call);
FilterResult ToJson(Call& call);
FilterResult ToNiceJson(Call& call);
FilterResult FromJson(Call& call);

// filters_yaml.cc
FilterResult ToNiceYaml(Call& call);

// filters_comment.cc
FilterResult Comment(Call& call);

// filters_password.cc
FilterResult PasswordHash(Call& call);

// filters_encode.cc
FilterResult Quote(Call& call);
FilterResult Base64Encode(Call& call);
FilterResult Hash(Call& call);
FilterResult HostlistExpand(Call& call);
FilterResult HostlistFold(Call& call);
FilterResult FoldLines(Call& call);
FilterResult Ternary(Call& call);

// The value at "a.b.0" inside `element`; null when there is none.
ValuePtr FindPath(Context& context, ValuePtr element, absl::string_view path);
// FindPath for an `attribute=` argument (a name, a path or an index): an error when missing.
absl::StatusOr<ValuePtr> RequirePath(Context& context, const ValuePtr& element,
                                     const Value& attribute);
// Converts ASCII letters only; other characters stay.
std::string UpperAscii(absl::string_view text);
std::string LowerAscii(absl::string_view text);
// Python's str.strip(): white space, or any of `characters`.
absl::string_view Strip(absl::string_view text, absl::string_view characters, bool left,
                        bool right);
// Replaces at most `count` (negative: all) occurrences.
absl::StatusOr<std::string> ReplaceText(Context& context, absl::string_view text,
                                        absl::string_view from, absl::string_view to,
                                        int64_t count);
// The code point of one UTF-8 character; an invalid byte stands for itself.
uint32_t DecodeUtf8(absl::string_view character);
// Whether `pattern` matches the input: at its start when anchored, anywhere otherwise.
absl::StatusOr<bool> MatchesAt(Call& call, const std::string& pattern, bool anchored);
// The texts of `elements` with `separator` between them.
absl::StatusOr<Value> JoinTexts(Context& context, const std::vector<ValuePtr>& elements,
                                absl::string_view separator);

}  // namespace muster::tmpl
