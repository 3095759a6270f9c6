// Filters that sort and group. Strings are compared without regard to case unless asked otherwise.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

struct Keyed {
  ValuePtr key;
  ValuePtr element;
};

ValuePtr FoldCase(const ValuePtr& key, bool case_sensitive) {
  if (case_sensitive || !IsText(*key)) return key;
  const std::string folded = LowerAscii(PeekText(*key));
  return NewValue(IsSecret(*key) ? MakeSecret(folded) : Value(folded));
}

absl::StatusOr<std::vector<Keyed>> KeyElements(Call& call, const Value* attribute,
                                               bool case_sensitive,
                                               const ValuePtr& otherwise = nullptr) {
  ASSIGN_OR_RETURN(const std::vector<ValuePtr> elements, Elements(call.context, call.input));
  std::vector<Keyed> out;
  out.reserve(elements.size());
  for (const ValuePtr& element : elements) {
    ValuePtr key = element;
    if (attribute != nullptr && !attribute->is_null()) {
      absl::StatusOr<ValuePtr> found = RequirePath(call.context, element, *attribute);
      if (!found.ok() && otherwise == nullptr) return found.status();
      key = found.ok() ? *found : otherwise;
    }
    out.push_back({FoldCase(key, case_sensitive), element});
  }
  return out;
}

absl::Status SortByKey(Context& context, bool reverse, std::vector<Keyed>* elements) {
  absl::Status failed;
  std::stable_sort(elements->begin(), elements->end(), [&](const Keyed& a, const Keyed& b) {
    if (!failed.ok()) return false;
    const absl::StatusOr<int> order = Compare(context, *a.key, *b.key);
    if (!order.ok()) {
      failed = order.status();
      return false;
    }
    return reverse ? *order > 0 : *order < 0;
  });
  return failed;
}

std::vector<ValuePtr> WithoutKeys(const std::vector<Keyed>& elements) {
  std::vector<ValuePtr> out;
  for (const Keyed& element : elements) out.push_back(element.element);
  return out;
}

FilterResult Extreme(Call& call, int sign) {
  ASSIGN_OR_RETURN(const bool case_sensitive, call.BoolArg(0, false));
  ASSIGN_OR_RETURN(const std::vector<Keyed> elements,
                   KeyElements(call, call.Arg(1), case_sensitive));
  if (elements.empty()) return nullptr;
  const Keyed* best = &elements[0];
  for (const Keyed& element : elements) {
    ASSIGN_OR_RETURN(const int order, Compare(call.context, *element.key, *best->key));
    if (order * sign > 0) best = &element;
  }
  return best->element;
}

}  // namespace

FilterResult Min(Call& call) { return Extreme(call, -1); }
FilterResult Max(Call& call) { return Extreme(call, 1); }

FilterResult Sort(Call& call) {
  ASSIGN_OR_RETURN(const bool reverse, call.BoolArg(0, false));
  ASSIGN_OR_RETURN(const bool case_sensitive, call.BoolArg(1, false));
  // "a,b" sorts by a, then by b: done from the last to the first, because each sort is stable.
  std::vector<Value> attributes;
  if (call.Arg(2) == nullptr || !IsText(*call.Arg(2))) {
    attributes.push_back(call.Arg(2) != nullptr ? *call.Arg(2) : Value());
  } else {
    absl::string_view rest = PeekText(*call.Arg(2));
    while (true) {
      const size_t comma = rest.find(',');
      attributes.push_back(std::string(rest.substr(0, comma)));
      if (comma == absl::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  ValuePtr sorted = call.input;
  for (auto attribute = attributes.rbegin(); attribute != attributes.rend(); ++attribute) {
    Call step{call.context, sorted};
    ASSIGN_OR_RETURN(std::vector<Keyed> elements, KeyElements(step, &*attribute, case_sensitive));
    RETURN_IF_ERROR(SortByKey(call.context, reverse, &elements));
    sorted = NewValue(MakeList(call.context, WithoutKeys(elements)));
  }
  return sorted;
}

FilterResult Unique(Call& call) {
  ASSIGN_OR_RETURN(const bool case_sensitive, call.BoolArg(0, false));
  ASSIGN_OR_RETURN(const std::vector<Keyed> elements,
                   KeyElements(call, call.Arg(1), case_sensitive));
  std::vector<const Keyed*> kept;
  std::vector<ValuePtr> out;
  for (const Keyed& element : elements) {
    const bool seen = std::any_of(kept.begin(), kept.end(), [&](const Keyed* other) {
      return Equal(call.context, *other->key, *element.key);
    });
    if (!call.context.budget.status().ok()) return call.context.budget.status();
    if (seen) continue;
    kept.push_back(&element);
    out.push_back(element.element);
  }
  return NewValue(MakeList(call.context, out));
}

FilterResult DictSort(Call& call) {
  ASSIGN_OR_RETURN(const bool case_sensitive, call.BoolArg(0, false));
  ASSIGN_OR_RETURN(const std::string by, call.TextArg(1, "key"));
  ASSIGN_OR_RETURN(const bool reverse, call.BoolArg(2, false));
  if (by != "key" && by != "value") {
    return absl::InvalidArgumentError("filter 'dictsort' sorts by 'key' or by 'value'");
  }
  ASSIGN_OR_RETURN(const ValuePtr pairs, Items(call));
  Call step{call.context, pairs};
  const Value index = by == "key" ? 0 : 1;
  ASSIGN_OR_RETURN(std::vector<Keyed> elements, KeyElements(step, &index, case_sensitive));
  RETURN_IF_ERROR(SortByKey(call.context, reverse, &elements));
  return NewValue(MakeList(call.context, WithoutKeys(elements)));
}

FilterResult GroupBy(Call& call) {
  ASSIGN_OR_RETURN(const bool case_sensitive, call.BoolArg(2, false));
  ASSIGN_OR_RETURN(std::vector<Keyed> elements,
                   KeyElements(call, call.Arg(0), case_sensitive, call.args[1]));
  RETURN_IF_ERROR(SortByKey(call.context, false, &elements));
  Value groups = Value::array();
  for (size_t begin = 0; begin < elements.size();) {
    size_t end = begin;
    std::vector<ValuePtr> members;
    while (end < elements.size() && Equal(call.context, *elements[begin].key, *elements[end].key)) {
      members.push_back(elements[end++].element);
    }
    if (!call.context.budget.status().ok()) return call.context.budget.status();
    // Python shows the key with the first member's spelling.
    absl::StatusOr<ValuePtr> spelled = RequirePath(call.context, members[0], *call.Arg(0));
    const ValuePtr key = spelled.ok() ? *spelled : elements[begin].key;
    groups.push_back(Value::array({*key, MakeList(call.context, members)}));
    begin = end;
  }
  return NewValue(std::move(groups));
}

}  // namespace muster::tmpl
