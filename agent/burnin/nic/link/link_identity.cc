#include "agent/burnin/nic/link/link_identity.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::burnin {
namespace {

template <typename IsIt>
bool IsAny(const std::vector<std::string>& told, const std::vector<std::string>& wanted,
           const IsIt& is_it) {
  return std::any_of(told.begin(), told.end(), [&](const std::string& each) {
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](const std::string& one) { return is_it(each, one); });
  });
}

}  // namespace

bool IsSameSystem(absl::string_view a, absl::string_view b) {
  const auto without_domain = [](absl::string_view name) { return name.substr(0, name.find('.')); };
  const bool both_whole = absl::StrContains(a, ".") == absl::StrContains(b, ".");
  return both_whole ? absl::EqualsIgnoreCase(a, b)
                    : absl::EqualsIgnoreCase(without_domain(a), without_domain(b));
}

bool IsFirmware(absl::string_view told, absl::string_view version) {
  return told == version || told.substr(0, told.find(' ')) == version;
}

void JudgeIdentity(const LinkIdentity& link, const IdentityExpectation& expectation,
                   CheckResult& result) {
  if (!expectation.driver.empty() && link.driver.empty()) {
    AddUnknown(result, absl::StrCat(link.name, " does not report its driver"));
  } else if (!expectation.driver.empty() && link.driver != expectation.driver) {
    AddFault(result, "wrong_driver", link.name,
             absl::StrCat(link.name, " is driven by ", link.driver, ", not ", expectation.driver));
  }
  if (!expectation.firmware.empty() && link.firmware.empty()) {
    AddUnknown(result, absl::StrCat(link.name, " does not report its firmware"));
  } else if (!expectation.firmware.empty() &&
             !IsAny({link.firmware}, expectation.firmware, IsFirmware)) {
    AddFault(result, "wrong_firmware", link.name,
             absl::StrCat(link.name, " has firmware ", link.firmware, ", not ",
                          absl::StrJoin(expectation.firmware, " or ")));
  }
  if (!link.neighbors.empty() && !expectation.neighbors.empty() &&
      !IsAny(link.neighbors, expectation.neighbors, IsSameSystem)) {
    AddFault(result, "wrong_neighbor", link.name,
             absl::StrCat(link.name, " is connected to ", absl::StrJoin(link.neighbors, " and "),
                          ", not to ", absl::StrJoin(expectation.neighbors, " or "),
                          ": check the cable, or the switch in the inventory"));
  }
}

}  // namespace muster::burnin
