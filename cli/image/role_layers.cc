#include "cli/image/role_layers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"

namespace muster::cli {
namespace {

// Raise it when a layer that is kept would hold something else of the same steps.
constexpr int kLayerFormat = 1;

v1::Plan PlanOf(const v1::Plan& plan, const v1::RolePlan& role) {
  v1::Plan one = plan;
  // It is the digest of the whole.
  one.clear_digest();
  one.clear_roles();
  *one.add_roles() = role;
  one.mutable_roles(0)->clear_needs();
  return one;
}

}  // namespace

std::vector<RoleLayer> RoleLayers(absl::string_view base_digest, const v1::Plan& plan,
                                  const google::protobuf::RepeatedPtrField<v1::ImageRole>& roles) {
  std::map<std::string, std::string> steps;
  for (const v1::ImageRole& role : roles) steps[role.name()] = role.sha256();
  std::vector<RoleLayer> layers;
  std::set<std::string> laid;
  std::string below(base_digest);
  while (true) {
    const auto next =
        std::find_if(plan.roles().begin(), plan.roles().end(), [&](const v1::RolePlan& role) {
          return laid.count(role.name()) == 0 &&
                 std::all_of(role.needs().begin(), role.needs().end(),
                             [&](const std::string& need) { return laid.count(need) != 0; });
        });
    if (next == plan.roles().end()) return layers;
    laid.insert(next->name());
    // Each part is on a line of its own, which none of them can contain.
    below = Sha256Hex(
        absl::StrCat(kLayerFormat, "\n", below, "\n", next->name(), "\n", steps[next->name()]));
    layers.push_back({.role = next->name(), .digest = below, .plan = PlanOf(plan, *next)});
  }
}

}  // namespace muster::cli
