// map, select and their kin: filters that apply a filter or a test to each element.
#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/template/filters/filters.h"
#include "controller/template/instead.h"

namespace muster::tmpl {
namespace {

// Takes the leading positional argument, which names a filter, a test or an attribute.
absl::StatusOr<std::string> TakeName(absl::string_view filter, GivenArguments* given) {
  if (given->positional.empty() || !given->positional.front()->is_string()) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter '", filter, "' needs a name as a string"));
  }
  std::string name(absl::StripPrefix(PeekText(*given->positional.front()), "ansible.builtin."));
  given->positional.erase(given->positional.begin());
  return name;
}

absl::StatusOr<ValuePtr> MapOne(const Call& call, const FilterRow& row, const ValuePtr& element) {
  return RunFilter(row, call.context, element, call.rest);
}

FilterResult MapAttribute(Call& call) {
  ValuePtr attribute, otherwise;
  for (const auto& [name, value] : call.rest.named) {
    if (name != "attribute" && name != "default") {
      return absl::InvalidArgumentError(absl::StrCat("filter 'map' has no argument '", name, "'",
                                                     DidYouMean(name, {"attribute", "default"})));
    }
    (name == "attribute" ? attribute : otherwise) = value;
  }
  if (attribute == nullptr) {
    return absl::InvalidArgumentError("filter 'map' needs attribute= or the name of a filter");
  }
  ASSIGN_OR_RETURN(std::vector<ValuePtr> elements, Elements(call.context, call.input));
  for (ValuePtr& element : elements) {
    absl::StatusOr<ValuePtr> found = RequirePath(call.context, element, *attribute);
    if (!found.ok() && otherwise == nullptr) return found.status();
    element = found.ok() ? *found : otherwise;
  }
  return NewValue(MakeList(call.context, elements));
}

// The texts of the list in `select('in', list)`: looking up each element one by one would take as
// many steps as there are pairs. nullopt: not a list, or not only texts.
using Texts = absl::flat_hash_set<absl::string_view>;
std::optional<Texts> TextsToLookUp(Context& context, const TestRow* test,
                                   const GivenArguments& given) {
  if (test == nullptr || test != FindTest("in") || given.positional.size() != 1 ||
      !given.named.empty() || !given.positional.front()->is_array()) {
    return std::nullopt;
  }
  const Value& list = *given.positional.front();
  if (!context.budget.Spend(list.size()) || !std::all_of(list.begin(), list.end(), IsText)) {
    return std::nullopt;
  }
  Texts texts;
  for (const Value& each : list) texts.insert(PeekText(each));
  return texts;
}

// select, reject (by_attribute false), selectattr, rejectattr.
FilterResult Pick(Call& call, absl::string_view filter, bool by_attribute, bool wanted) {
  std::string path;
  if (by_attribute) {
    ASSIGN_OR_RETURN(path, TakeName(filter, &call.rest));
  }
  const TestRow* test = nullptr;
  if (!call.rest.positional.empty()) {
    ASSIGN_OR_RETURN(const std::string name, TakeName(filter, &call.rest));
    test = FindTest(name);
    if (test == nullptr) {
      return absl::InvalidArgumentError(UnknownWord(WordKind::kTest, name, TestNames()));
    }
  }
  ASSIGN_OR_RETURN(std::vector<ValuePtr> elements, Elements(call.context, call.input));
  const std::optional<Texts> texts = TextsToLookUp(call.context, test, call.rest);
  std::vector<size_t> picked;
  for (size_t i = 0; i < elements.size(); ++i) {
    const ValuePtr& element = elements[i];
    const ValuePtr subject = by_attribute ? FindPath(call.context, element, path) : element;
    const bool may_lack =
        test != nullptr && (test == FindTest("defined") || test == FindTest("undefined"));
    if (subject == nullptr && !may_lack) {
      return absl::InvalidArgumentError(
          absl::StrCat("an element (", TypeName(*element), ") has no '", path, "'"));
    }
    bool holds = subject != nullptr && Truth(*subject);
    if (texts.has_value()) {
      holds = IsText(*subject) && texts->contains(PeekText(*subject));
    } else if (test != nullptr) {
      ASSIGN_OR_RETURN(holds, RunTest(*test, call.context, subject, call.rest));
    }
    if (holds == wanted) picked.push_back(i);
  }
  if (call.input->is_array()) {
    elements.clear();
    return PickElements(call.context, std::move(call.input), picked);
  }
  std::vector<ValuePtr> kept;
  for (const size_t i : picked) kept.push_back(elements[i]);
  return NewValue(MakeList(call.context, kept));
}

}  // namespace

FilterResult Map(Call& call) {
  if (call.rest.positional.empty()) return MapAttribute(call);
  ASSIGN_OR_RETURN(const std::string name, TakeName("map", &call.rest));
  const FilterRow* row = FindFilter(name);
  if (row == nullptr || row->run == nullptr) {
    return absl::InvalidArgumentError(UnknownWord(WordKind::kFilter, name, FilterNames()));
  }
  ASSIGN_OR_RETURN(std::vector<ValuePtr> elements, Elements(call.context, call.input));
  for (ValuePtr& element : elements) {
    if (!call.context.budget.Spend(1)) return call.context.budget.status();
    ASSIGN_OR_RETURN(element, MapOne(call, *row, element));
    if (element == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("filter '", name, "' on an empty element"));
    }
  }
  return NewValue(MakeList(call.context, elements));
}

FilterResult Select(Call& call) { return Pick(call, "select", false, true); }
FilterResult Reject(Call& call) { return Pick(call, "reject", false, false); }
FilterResult SelectAttr(Call& call) { return Pick(call, "selectattr", true, true); }
FilterResult RejectAttr(Call& call) { return Pick(call, "rejectattr", true, false); }

}  // namespace muster::tmpl
