// Compares a port's card and the other end of its cable with what was expected.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// "" and empty: not reported.
struct LinkIdentity {
  std::string name;  // of the interface
  std::string driver;
  std::string firmware;
  std::vector<std::string> neighbors;  // names of the systems at the cable's other end, by LLDP
};

// "" and empty: anything is right.
struct IdentityExpectation {
  std::string driver;
  std::vector<std::string> firmware;   // one of them
  std::vector<std::string> neighbors;  // one of them
};

// Adds faults, and expected values that are not reported; an unreported neighbor does not count
// among these, since few sites run LLDP. Pure.
void JudgeIdentity(const LinkIdentity& link, const IdentityExpectation& expectation,
                   CheckResult& result);

// Whether two names belong to one system: case does not count, nor does a domain that only one of
// them has.
bool IsSameSystem(absl::string_view a, absl::string_view b);

// Whether the driver's text for its firmware is the version: the whole text, or its first word,
// because drivers append the board's id: "16.35.2000 (MT_0000000012)".
bool IsFirmware(absl::string_view told, absl::string_view version);

}  // namespace muster::burnin
