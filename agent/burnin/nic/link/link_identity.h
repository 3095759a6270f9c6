// Which card a port is of and whose cable it is on, held against what was expected.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// "" and empty: nobody tells.
struct LinkIdentity {
  std::string name;  // of the interface
  std::string driver;
  std::string firmware;
  std::vector<std::string> neighbors;  // names of the systems at the cable's other end, by LLDP
};

// "" and empty: whatever it is is right.
struct IdentityExpectation {
  std::string driver;
  std::vector<std::string> firmware;   // one of them
  std::vector<std::string> neighbors;  // one of them
};

// Adds faults, and what is expected and not told; but a neighbour that is not told is none, since
// few sites run LLDP. Pure.
void JudgeIdentity(const LinkIdentity& link, const IdentityExpectation& expectation,
                   CheckResult& result);

// Whether two names are of one system: case does not count, nor a domain that only one of them has.
bool IsSameSystem(absl::string_view a, absl::string_view b);

// Whether what a driver calls its firmware is the version: the whole text, or its first word, as
// drivers append the board's id: "16.35.2000 (MT_0000000012)".
bool IsFirmware(absl::string_view told, absl::string_view version);

}  // namespace muster::burnin
