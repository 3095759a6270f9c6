// Filters that work on several lists at once: sets, zip, flatten.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

// A set of values. Texts are found at once, everything else by comparing with each.
class ValueSet {
 public:
  explicit ValueSet(Context& context) : context_(context) {}

  bool Contains(const Value& value) const {
    if (IsText(value)) return texts_.contains(PeekText(value));
    return std::any_of(others_.begin(), others_.end(),
                       [&](const ValuePtr& other) { return Equal(context_, *other, value); });
  }
  // Whether it is new.
  bool Add(const ValuePtr& value) {
    if (Contains(*value)) return false;
    kept_.push_back(value);
    if (IsText(*value)) {
      texts_.insert(PeekText(*value));
    } else {
      others_.push_back(value);
    }
    return true;
  }
  // In the order in which they were added.
  const std::vector<ValuePtr>& values() const { return kept_; }

 private:
  Context& context_;
  absl::flat_hash_set<absl::string_view> texts_;  // parts of kept_
  std::vector<ValuePtr> others_;
  std::vector<ValuePtr> kept_;
};

absl::StatusOr<std::vector<ValuePtr>> ListElements(Context& context, absl::string_view filter,
                                                   const ValuePtr& value) {
  if (value->is_array()) return Elements(context, value);
  return absl::InvalidArgumentError(
      absl::StrCat("filter '", filter, "' works on lists, not on ", TypeName(*value)));
}

// The elements of the input whose membership in the argument is `wanted`, each once.
FilterResult Restrict(Call& call, absl::string_view filter, bool wanted) {
  ASSIGN_OR_RETURN(const auto elements, ListElements(call.context, filter, call.input));
  ASSIGN_OR_RETURN(const auto others, ListElements(call.context, filter, call.args[0]));
  ValueSet other(call.context);
  for (const ValuePtr& element : others) other.Add(element);
  ValueSet out(call.context);
  for (const ValuePtr& element : elements) {
    if (other.Contains(*element) == wanted) out.Add(element);
    if (!call.context.budget.status().ok()) return call.context.budget.status();
  }
  return NewValue(MakeList(call.context, out.values()));
}

// Lists of one element of each, as many as the shortest has; or the longest, with `*fill` for what
// the others lack.
FilterResult ZipAll(Call& call, const ValuePtr* fill) {
  std::vector<std::vector<ValuePtr>> columns;
  ASSIGN_OR_RETURN(columns.emplace_back(), Elements(call.context, call.input));
  for (const ValuePtr& other : call.rest.positional) {
    ASSIGN_OR_RETURN(columns.emplace_back(), Elements(call.context, other));
  }
  size_t rows = columns[0].size();
  for (const auto& column : columns)
    rows = fill != nullptr ? std::max(rows, column.size()) : std::min(rows, column.size());
  Value out = Value::array();
  for (size_t row = 0; row < rows; ++row) {
    std::vector<ValuePtr> cells;
    for (const auto& column : columns) cells.push_back(row < column.size() ? column[row] : *fill);
    out.push_back(MakeList(call.context, cells));
    if (!call.context.budget.Spend(1)) return call.context.budget.status();
  }
  return NewValue(std::move(out));
}

bool IsNothing(const Value& value) {
  return value.is_null() ||
         (value.is_string() && (PeekText(value) == "None" || PeekText(value) == "null"));
}

void FlattenInto(Context& context, const ValuePtr& list, int64_t levels, bool skip_nulls,
                 std::vector<ValuePtr>* out, int depth = 0) {
  if (!context.budget.Enter(depth)) return;
  for (const Value& element : *list) {
    if (!context.budget.Spend(1)) return;
    if (skip_nulls && IsNothing(element)) continue;
    if (element.is_array() && levels > 0) {
      FlattenInto(context, PartOf(list, element), levels - 1, skip_nulls, out, depth + 1);
    } else {
      out->push_back(PartOf(list, element));
    }
  }
}

}  // namespace

FilterResult Difference(Call& call) { return Restrict(call, "difference", false); }
FilterResult Intersect(Call& call) { return Restrict(call, "intersect", true); }

FilterResult Union(Call& call) {
  ValueSet out(call.context);
  for (const ValuePtr& list : {call.input, call.args[0]}) {
    ASSIGN_OR_RETURN(const auto elements, ListElements(call.context, "union", list));
    for (const ValuePtr& element : elements) {
      out.Add(element);
      if (!call.context.budget.status().ok()) return call.context.budget.status();
    }
  }
  return NewValue(MakeList(call.context, out.values()));
}

FilterResult Zip(Call& call) {
  if (!call.rest.named.empty())
    return absl::InvalidArgumentError("filter 'zip' takes its lists by position");
  return ZipAll(call, nullptr);
}

FilterResult ZipLongest(Call& call) {
  ValuePtr fill = NewValue(nullptr);
  for (const auto& [name, value] : call.rest.named) {
    if (name != "fillvalue") {
      return absl::InvalidArgumentError(
          "filter 'zip_longest' takes its lists by position, and fillvalue by name");
    }
    fill = value;
  }
  return ZipAll(call, &fill);
}

FilterResult Flatten(Call& call) {
  int64_t levels = INT64_MAX;
  if (call.Arg(0) != nullptr && !call.Arg(0)->is_null()) {
    ASSIGN_OR_RETURN(levels, call.IntArg(0, 0));
  }
  ASSIGN_OR_RETURN(const bool skip_nulls, call.BoolArg(1, true));
  if (!call.input->is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter 'flatten' works on lists, not on ", TypeName(*call.input)));
  }
  std::vector<ValuePtr> out;
  FlattenInto(call.context, call.input, levels, skip_nulls, &out);
  return NewValue(MakeList(call.context, out));
}

}  // namespace muster::tmpl
