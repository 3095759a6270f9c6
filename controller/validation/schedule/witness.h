// Whom a node is measured with that is validated alone: a node in service is borrowed as a witness
// for the checks between nodes. Pure.
#pragma once

#include <vector>

#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/suite/suite.h"

namespace muster::controller::validation {

// Whether `node` has all that the check asks for.
bool HasWhatItTakes(const SuiteCheck& check, const ValidationNode& node);

// Whether there is a check between nodes in which one of `tested`, and no second, can take part.
bool IsAnyAlone(const std::vector<ValidationNode>& tested, const Suite& suite);

// Looks at the checks between nodes in which one of `tested`, and no second, can take part. Says of
// each whether some of `others`, the rest of the inventory's nodes, could be the partner
// (SuiteCheck::has_others). Returns those that could and that are enrolled, best first: who can
// take part in the most of these checks, then who is on the switch of the lone node, then in its
// rack, then as in `others`. Empty: no check needs a witness, or nobody could be one.
std::vector<ValidationNode> FindWitnesses(const std::vector<ValidationNode>& tested,
                                          const std::vector<ValidationNode>& others, Suite& suite);

}  // namespace muster::controller::validation
