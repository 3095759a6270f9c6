#include "common/checks/catalog.h"

#include "common/checks/check_tables.h"

namespace muster::checks {

absl::Span<const CheckSpec* const> Checks() {
  static const auto* const all = [] {
    auto* list = new std::vector<const CheckSpec*>;
    for (const absl::Span<const CheckSpec> table :
         {GpuChecks(), GpuWorkChecks(), NicChecks(), SystemChecks()})
      for (const CheckSpec& check : table) list->push_back(&check);
    return list;
  }();
  return *all;
}

const CheckSpec* FindCheck(absl::string_view name) {
  for (const CheckSpec* check : Checks())
    if (check->name == name) return check;
  return nullptr;
}

}  // namespace muster::checks
