#include "controller/playbook/compile/left_out_roles.h"

#include <set>
#include <utility>

namespace muster::controller::playbook {

void LeftOutRoles::Add(const std::string& role, std::vector<std::string> needs) {
  needs_[role] = std::move(needs);
}

std::vector<std::string> LeftOutRoles::Bridge(const std::vector<std::string>& needs) const {
  std::vector<std::string> bridged;
  std::vector<std::string> open(needs.rbegin(), needs.rend());
  std::set<std::string> seen;
  while (!open.empty()) {
    const std::string need = std::move(open.back());
    open.pop_back();
    if (!seen.insert(need).second) continue;
    const auto out = needs_.find(need);
    if (out == needs_.end()) {
      bridged.push_back(need);
    } else {
      open.insert(open.end(), out->second.rbegin(), out->second.rend());
    }
  }
  return bridged;
}

}  // namespace muster::controller::playbook
