// Finds partners for a node that is validated alone: a node in service is borrowed as a witness for
// the checks between nodes. Pure.
#pragma once

#include <vector>

#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/suite/suite.h"

namespace muster::controller::validation {

// Whether `node` meets all conditions of the check.
bool HasWhatItTakes(const SuiteCheck& check, const ValidationNode& node);

// Whether there is a check between nodes in which only one of `tested` can take part.
bool IsAnyAlone(const std::vector<ValidationNode>& tested, const Suite& suite);

// Looks at the checks between nodes in which only one of `tested` can take part. Sets for each
// whether some of `others`, the rest of the inventory's nodes, could be the partner
// (SuiteCheck::has_others). Returns those that could and are enrolled, best first: nodes that can
// take part in the most of these checks, then those on the switch of the lone node, then those in
// its rack, then in the order of `others`. Empty: no check needs a witness, or no node could be
// one.
std::vector<ValidationNode> FindWitnesses(const std::vector<ValidationNode>& tested,
                                          const std::vector<ValidationNode>& others, Suite& suite);

}  // namespace muster::controller::validation
