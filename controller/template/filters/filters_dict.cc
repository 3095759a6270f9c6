// Filters that merge dictionaries, and turn them into lists and back.
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "common/value/folded_value.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

// The list that replaces `low` and `high`, of which `high` is the later one.
using MergeLists = Value (*)(Context&, const Value& low, const Value& high);

Value Joined(Context& context, const Value& first, const Value& second) {
  SpendCopy(context, first);
  SpendCopy(context, second);
  if (!context.budget.status().ok()) return Value::array();
  Value out = first;
  out.insert(out.end(), second.begin(), second.end());
  return out;
}

// `list` without the elements that `other` has.
Value Without(Context& context, const Value& list, const Value& other) {
  Value out = Value::array();
  for (const Value& element : list) {
    const absl::StatusOr<bool> has = Contains(context, other, element);
    if (!context.budget.status().ok()) return Value::array();
    if (has.ok() && !*has) out.push_back(element);
  }
  return out;
}

struct ListMerge {
  absl::string_view name;
  MergeLists merge;
};
constexpr ListMerge kListMerges[] = {
    {"replace", [](Context&, const Value&, const Value& high) { return high; }},
    {"keep", [](Context&, const Value& low, const Value&) { return low; }},
    {"append",
     [](Context& c, const Value& low, const Value& high) { return Joined(c, low, high); }},
    {"prepend",
     [](Context& c, const Value& low, const Value& high) { return Joined(c, high, low); }},
    {"append_rp", [](Context& c, const Value& low,
                     const Value& high) { return Joined(c, Without(c, low, high), high); }},
    {"prepend_rp", [](Context& c, const Value& low,
                      const Value& high) { return Joined(c, high, Without(c, low, high)); }},
};

struct Merging {
  bool recursive = false;
  MergeLists lists = kListMerges[0].merge;
};

// `high` over `low`, both dictionaries.
Value Merge(Context& context, const Value& low, const Value& high, const Merging& merging,
            int depth = 0) {
  if (!context.budget.Enter(depth)) return Value();
  SpendCopy(context, low, depth);
  SpendCopy(context, high, depth);
  if (low.empty() || Equal(context, low, high)) return high;
  if (!context.budget.status().ok()) return Value();
  Value out = low;
  for (auto entry = high.begin(); entry != high.end(); ++entry) {
    if (!context.budget.Spend(1 + out.size() / 8)) return Value();
    Value& merged = out[entry.key()];
    const Value next = IsFolded(*entry) ? SpendUnfold(context, *entry) : *entry;
    if (IsFolded(merged)) merged = SpendUnfold(context, merged);
    if (merged.is_object() && next.is_object() && merging.recursive) {
      merged = Merge(context, merged, next, merging, depth + 1);
    } else if (merged.is_array() && next.is_array()) {
      merged = merging.lists(context, merged, next);
    } else {
      merged = next;
    }
  }
  return out;
}

absl::Status ReadMerging(const GivenArguments& given, Merging* out) {
  for (const auto& [name, value] : given.named) {
    if (name == "recursive") {
      out->recursive = Truth(*value);
      continue;
    }
    if (name != "list_merge") {
      return absl::InvalidArgumentError(
          absl::StrCat("filter 'combine' has no argument '", name, "'",
                       DidYouMean(name, {"recursive", "list_merge"})));
    }
    out->lists = nullptr;
    std::vector<std::string> names;
    for (const ListMerge& row : kListMerges) {
      names.emplace_back(row.name);
      if (value->is_string() && PeekText(*value) == row.name) out->lists = row.merge;
    }
    if (out->lists == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("filter 'combine' knows no such list_merge",
                       value->is_string() ? DidYouMean(PeekText(*value), names) : "",
                       "; it is replace, keep, append, prepend, append_rp or prepend_rp"));
    }
  }
  return absl::OkStatus();
}

// A dictionary, the dictionaries of a list, or none.
absl::Status TakeDictionaries(Context& context, const ValuePtr& given, std::vector<ValuePtr>* out) {
  std::vector<ValuePtr> values = {given};
  if (given->is_array()) {
    ASSIGN_OR_RETURN(values, Elements(context, given));
  }
  for (ValuePtr& value : values) {
    if (value->is_null()) continue;
    if (!value->is_object()) {
      return absl::InvalidArgumentError(
          absl::StrCat("filter 'combine' merges dictionaries, not ", TypeName(*value)));
    }
    out->push_back(std::move(value));
  }
  return absl::OkStatus();
}

// An argument of dict2items or items2dict that names an entry.
absl::StatusOr<std::string> EntryName(const Call& call, size_t index, absl::string_view usual) {
  if (call.Arg(index) == nullptr) return std::string(usual);
  if (call.Arg(index)->is_string()) return std::string(PeekText(*call.Arg(index)));
  return absl::InvalidArgumentError(
      absl::StrCat("the name of an entry is a string, not ", TypeName(*call.Arg(index))));
}

}  // namespace

FilterResult Combine(Call& call) {
  Merging merging;
  RETURN_IF_ERROR(ReadMerging(call.rest, &merging));
  std::vector<ValuePtr> dictionaries;
  RETURN_IF_ERROR(TakeDictionaries(call.context, call.input, &dictionaries));
  for (const ValuePtr& given : call.rest.positional)
    RETURN_IF_ERROR(TakeDictionaries(call.context, given, &dictionaries));
  if (dictionaries.empty()) return NewValue(Value::object());
  ValuePtr merged = dictionaries.back();
  for (auto low = dictionaries.rbegin() + 1; low != dictionaries.rend(); ++low) {
    merged = NewValue(Merge(call.context, **low, *merged, merging));
    if (!call.context.budget.status().ok()) return call.context.budget.status();
  }
  return merged;
}

FilterResult DictToItems(Call& call) {
  ASSIGN_OR_RETURN(const std::string key_name, EntryName(call, 0, "key"));
  ASSIGN_OR_RETURN(const std::string value_name, EntryName(call, 1, "value"));
  if (!call.input->is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter 'dict2items' needs a dictionary, not ", TypeName(*call.input)));
  }
  SpendCopy(call.context, *call.input);
  if (!call.context.budget.Spend(call.input->size())) return call.context.budget.status();
  Value out = Value::array();
  for (auto entry = call.input->begin(); entry != call.input->end(); ++entry) {
    Value item = Value::object();
    item[key_name] = entry.key();
    item[value_name] = *entry;
    out.push_back(std::move(item));
  }
  return NewValue(std::move(out));
}

FilterResult ItemsToDict(Call& call) {
  ASSIGN_OR_RETURN(const std::string key_name, EntryName(call, 0, "key"));
  ASSIGN_OR_RETURN(const std::string value_name, EntryName(call, 1, "value"));
  if (!call.input->is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "filter 'items2dict' needs a list of dictionaries, not ", TypeName(*call.input)));
  }
  ASSIGN_OR_RETURN(const std::vector<ValuePtr> items, Elements(call.context, call.input));
  Value out = Value::object();
  for (const ValuePtr& item : items) {
    const ValuePtr key = FindKey(call.context, item, key_name);
    const ValuePtr value = FindKey(call.context, item, value_name);
    if (key == nullptr || value == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("filter 'items2dict': an element (",
                                                     TypeName(*item), ") has no '",
                                                     key == nullptr ? key_name : value_name,
                                                     "'; key_name and value_name say "
                                                     "which entries count"));
    }
    if (!key->is_string()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the keys of a dictionary are strings, not ", TypeName(*key)));
    }
    SpendCopy(call.context, *value, 1);
    if (!call.context.budget.Spend(out.size() / 8)) return call.context.budget.status();
    out[std::string(PeekText(*key))] = *value;
  }
  return NewValue(std::move(out));
}

}  // namespace muster::tmpl
