// The table of filters.
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

// The evaluator handles `default`, because only it sees undefined values.
constexpr FilterRow kFilters[] = {
    {"default", nullptr, {{"default_value", "boolean"}}},
    {"d", nullptr, {{"default_value", "boolean"}}},

    {"upper", Upper},
    {"lower", Lower},
    {"title", Title},
    {"capitalize", Capitalize},
    {"trim", Trim, {{"chars"}}},
    {"replace", Replace, {{"old", "new", "count"}, 2}},
    {"string", String},
    {"indent", Indent, {{"width", "first", "blank"}}},
    {"format", Format, {.variadic = true}},
    {"regex_replace", RegexReplace, {{"pattern", "replacement", "ignorecase"}, 2}},
    {"regex_search", RegexSearch, {{"pattern", "ignorecase"}, 1}},

    {"int", Int, {{"default", "base"}}},
    {"float", Float, {{"default"}}},
    {"bool", Bool},
    {"round", Round, {{"precision", "method"}}},
    {"abs", Abs},

    {"join", Join, {{"d", "attribute"}}},
    {"length", LengthOf},
    {"count", LengthOf},
    {"list", List},
    {"first", First},
    {"last", Last},
    {"reverse", Reverse},
    {"items", Items},
    {"sum", Sum, {{"attribute", "start"}}},

    {"min", Min, {{"case_sensitive", "attribute"}}},
    {"max", Max, {{"case_sensitive", "attribute"}}},
    {"sort", Sort, {{"reverse", "case_sensitive", "attribute"}}},
    {"unique", Unique, {{"case_sensitive", "attribute"}}},
    {"dictsort", DictSort, {{"case_sensitive", "by", "reverse"}}},
    {"groupby", GroupBy, {{"attribute", "default", "case_sensitive"}, 1}},

    {"map", Map, {.variadic = true}},
    {"select", Select, {.variadic = true}},
    {"reject", Reject, {.variadic = true}},
    {"selectattr", SelectAttr, {.variadic = true}},
    {"rejectattr", RejectAttr, {.variadic = true}},

    {"tojson", ToJson, {{"indent"}}},
    {"quote", Quote},
    {"b64encode", Base64Encode},
    {"hash", Hash, {{"algorithm"}}},
    {"hostlist_expand", HostlistExpand},
    {"hostlist_fold", HostlistFold},
    {"fold_lines", FoldLines, {{"prefix"}, 1}},
    {"ternary", Ternary, {{"true_value", "false_value"}, 2}},
};

}  // namespace

const FilterRow* FindFilter(absl::string_view name) {
  for (const FilterRow& row : kFilters) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<std::string> FilterNames() {
  std::vector<std::string> names;
  for (const FilterRow& row : kFilters) names.push_back(row.name);
  return names;
}

}  // namespace muster::tmpl
