// Tells which members of a group check were lost and which only lost a partner, and which failures
// no single member caused. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// One node in one group check.
struct GroupMember {
  std::string node;
  uint32_t rank = 0;
  const v1::CheckResult* result = nullptr;  // nullptr: no result came
  v1::CheckVerdict* verdict = nullptr;
};

// When one member is lost, no member finishes. A member counts as lost when at least two others
// name it, and more than name anybody else, or when it could not give a result for reasons of its
// own. If any member is lost, excuses, with the reason, the verdicts that are unknown because their
// nodes lost another or were then stopped. All others stay as they are.
void ExcuseSurvivors(absl::Span<const GroupMember> members);

// Every member reports a wrong sum or a slow ring, and a single one can cause it: verdicts that
// fail only for that become unknown, with a hint how to tell the nodes apart. Faults of a node's
// own, such as corrupted frames at its port, stay failures.
void SuspectRing(absl::Span<const GroupMember> members);

}  // namespace muster::controller::validation
