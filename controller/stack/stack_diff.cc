#include "controller/stack/stack_diff.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::controller::stack {
namespace {

// Every value of a stack, by component and what it is, in order.
using Row = std::pair<std::pair<std::string, std::string>, std::string>;

std::vector<Row> RowsOf(const Stack& stack) {
  std::vector<Row> rows;
  rows.push_back(
      {{"os", "systems"}, absl::StrJoin(stack.os, ", ", [](std::string* out, const Word& os) {
         absl::StrAppend(out, os.text);
       })});
  rows.push_back({{"kernel", "range"}, stack.kernel.ToString()});
  for (const ComponentSpec& spec : ComponentSpecs()) {
    const Component* const component = stack.Find(spec.name);
    if (component == nullptr) continue;
    const std::string name(spec.name);
    rows.push_back({{name, "version"}, component->version.text});
    for (const auto& [key, word] : component->words) rows.push_back({{name, key}, word.text});
    if (component->kernels.has_value()) {
      rows.push_back({{name, "kernels"}, component->kernels->ToString()});
    }
    for (const auto& [package, version] : component->packages) {
      rows.push_back({{name, absl::StrCat("package ", package)}, version.text});
    }
  }
  return rows;
}

}  // namespace

std::vector<StackChange> DiffStacks(const Stack* before, const Stack& after,
                                    const Reported& reported) {
  std::vector<Row> order = RowsOf(after);
  const std::map<std::pair<std::string, std::string>, std::string> now(order.begin(), order.end());
  std::map<std::pair<std::string, std::string>, std::string> then;
  if (before != nullptr) {
    for (Row& row : RowsOf(*before)) {
      if (now.count(row.first) == 0) order.push_back(row);
      then.insert(std::move(row));
    }
  }
  std::vector<StackChange> changes;
  for (const auto& [key, value] : order) {
    const auto& [component, what] = key;
    const auto old = then.find(key);
    const auto fresh = now.find(key);
    StackChange change{component, what, old == then.end() ? "" : old->second,
                       fresh == now.end() ? "" : fresh->second};
    if (what == "version" && (component == "driver" || component == "slurm")) {
      const std::string& said = component == "driver" ? reported.driver : reported.slurm;
      change.reported = !said.empty() && said != change.before;
      if (change.reported) change.before = said;
    }
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace muster::controller::stack
