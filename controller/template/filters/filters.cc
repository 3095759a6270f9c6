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
    {"comment",
     Comment,
     {{"style", "decoration", "prefix", "prefix_count", "postfix", "postfix_count", "beginning",
       "end"}}},
    {"basename", Basename},
    {"dirname", Dirname},
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

    {"union", Union, {{"list"}, 1}},
    {"difference", Difference, {{"list"}, 1}},
    {"intersect", Intersect, {{"list"}, 1}},
    {"zip", Zip, {.variadic = true}},
    {"zip_longest", ZipLongest, {.variadic = true}},
    {"flatten", Flatten, {{"levels", "skip_nulls"}}},

    {"combine", Combine, {.variadic = true}},
    {"dict2items", DictToItems, {{"key_name", "value_name"}}},
    {"items2dict", ItemsToDict, {{"key_name", "value_name"}}},

    {"tojson", ToJsonForHtml, {{"indent"}}},
    {"to_json", ToJson, {{"indent", "sort_keys", "ensure_ascii"}}},
    {"to_nice_json", ToNiceJson, {{"indent", "sort_keys", "ensure_ascii"}}},
    {"from_json", FromJson},
    {"to_nice_yaml", ToNiceYaml, {{"indent", "width", "sort_keys"}}},
    {"password_hash", PasswordHash, {{"hashtype", "salt", "salt_size", "rounds"}}},
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
