// Filters on lists and dictionaries.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "controller/template/arithmetic.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {

ValuePtr FindPath(Context& context, ValuePtr element, absl::string_view path) {
  for (const absl::string_view part : absl::StrSplit(path, '.')) {
    int64_t index = 0;
    element = absl::SimpleAtoi(part, &index) ? FindItem(context, element, Value(index))
                                             : FindKey(context, element, part);
    if (element == nullptr) return nullptr;
  }
  return element;
}

absl::StatusOr<ValuePtr> RequirePath(Context& context, const ValuePtr& element,
                                     const Value& attribute) {
  ValuePtr found;
  std::string name;
  if (attribute.is_string()) {
    name = std::string(PeekText(attribute));
    found = FindPath(context, element, name);
  } else {
    int64_t index = 0;
    if (!ToInteger(attribute, &index)) {
      return absl::InvalidArgumentError(
          absl::StrCat("an attribute is named by a string or an index, not ", TypeName(attribute)));
    }
    name = absl::StrCat(index);
    found = FindItem(context, element, attribute);
  }
  if (found != nullptr) return found;
  return absl::InvalidArgumentError(
      absl::StrCat("an element (", TypeName(*element), ") has no '", name, "'"));
}

absl::StatusOr<Value> JoinTexts(Context& context, const std::vector<ValuePtr>& elements,
                                absl::string_view separator) {
  std::string out;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) absl::StrAppend(&out, separator);
    AppendText(context, *elements[i], &out);
    if (out.size() > context.budget.limits().max_output) context.budget.SpendText(out.size());
    if (!context.budget.status().ok()) return context.budget.status();
  }
  if (!context.budget.SpendText(out.size())) return context.budget.status();
  return Value(out);
}

FilterResult Join(Call& call) {
  std::string separator;
  if (call.Arg(0) != nullptr) separator = ToText(call.context, *call.Arg(0));
  ASSIGN_OR_RETURN(std::vector<ValuePtr> elements, Elements(call.context, call.input));
  if (call.Arg(1) != nullptr) {
    for (ValuePtr& element : elements) {
      ASSIGN_OR_RETURN(element, RequirePath(call.context, element, *call.Arg(1)));
    }
  }
  ASSIGN_OR_RETURN(Value text, JoinTexts(call.context, elements, separator));
  return NewValue(std::move(text));
}

FilterResult LengthOf(Call& call) {
  ASSIGN_OR_RETURN(const int64_t length, Length(*call.input));
  return NewValue(length);
}

FilterResult List(Call& call) {
  if (call.input->is_array()) return call.input;
  ASSIGN_OR_RETURN(const std::vector<ValuePtr> elements, Elements(call.context, call.input));
  return NewValue(MakeList(call.context, elements));
}

FilterResult First(Call& call) {
  if (call.input->is_array()) return FindItem(call.context, call.input, Value(0));
  ASSIGN_OR_RETURN(const std::vector<ValuePtr> elements, Elements(call.context, call.input));
  return elements.empty() ? nullptr : elements.front();
}

FilterResult Last(Call& call) {
  if (call.input->is_array()) return FindItem(call.context, call.input, Value(-1));
  ASSIGN_OR_RETURN(const std::vector<ValuePtr> elements, Elements(call.context, call.input));
  return elements.empty() ? nullptr : elements.back();
}

FilterResult Reverse(Call& call) {
  ASSIGN_OR_RETURN(std::vector<ValuePtr> elements, Elements(call.context, call.input));
  const std::vector<ValuePtr> reversed(elements.rbegin(), elements.rend());
  if (!IsText(*call.input)) return NewValue(MakeList(call.context, reversed));
  ASSIGN_OR_RETURN(Value text, JoinTexts(call.context, reversed, ""));
  return NewValue(std::move(text));
}

FilterResult Items(Call& call) {
  if (!call.input->is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(TypeName(*call.input), " has no items; a dictionary has"));
  }
  SpendCopy(call.context, *call.input);
  if (!call.context.budget.status().ok()) return call.context.budget.status();
  Value out = Value::array();
  for (auto entry = call.input->begin(); entry != call.input->end(); ++entry) {
    out.push_back(Value::array({entry.key(), *EntryOf(call.context, call.input, *entry)}));
  }
  return NewValue(std::move(out));
}

FilterResult Sum(Call& call) {
  ASSIGN_OR_RETURN(const std::vector<ValuePtr> elements, Elements(call.context, call.input));
  Value total = call.Arg(1) != nullptr ? *call.Arg(1) : Value(0);
  for (ValuePtr element : elements) {
    if (call.Arg(0) != nullptr && !call.Arg(0)->is_null()) {
      ASSIGN_OR_RETURN(element, RequirePath(call.context, element, *call.Arg(0)));
    }
    ASSIGN_OR_RETURN(total, Arithmetic(call.context, Op::kAdd, total, *element));
  }
  return NewValue(std::move(total));
}

}  // namespace muster::tmpl
