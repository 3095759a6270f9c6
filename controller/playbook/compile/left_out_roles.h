// Roles of a play that a plan does not have. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::controller::playbook {

// A role that is left out, by tags or by its `when`, passes its own needs on to the roles that need
// it: their order stays.
class LeftOutRoles {
 public:
  void Add(const std::string& role, std::vector<std::string> needs);
  // The roles that one with these needs has to wait for, each once, in their order.
  std::vector<std::string> Bridge(const std::vector<std::string>& needs) const;
  bool empty() const { return needs_.empty(); }

 private:
  std::map<std::string, std::vector<std::string>> needs_;  // by role
};

}  // namespace muster::controller::playbook
