// Who was lost in a check of a group, and who only lost somebody; and what none of them did alone.
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// One node in one check of a group.
struct GroupMember {
  std::string node;
  uint32_t rank = 0;
  const v1::CheckResult* result = nullptr;  // nullptr: none came
  v1::CheckVerdict* verdict = nullptr;
};

// Where one is lost, none comes to an end. Lost is whom at least two others name, and more than
// name anybody else; and who could not tell a result for reasons of its own. If anybody is:
// verdicts that are unknown because their nodes lost another or were stopped then are excused, with
// the reason. All others stay as they are.
void ExcuseSurvivors(absl::Span<const GroupMember> members);

// A wrong sum, or a ring that is slow, is told by each member, and one of them is enough to make
// it: who fails by that alone is unknown, with what tells the nodes apart. Faults of a node's own,
// such as frames that its port breaks, stay its fail.
void SuspectRing(absl::Span<const GroupMember> members);

}  // namespace muster::controller::validation
