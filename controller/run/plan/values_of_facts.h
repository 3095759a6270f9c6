// The facts of all nodes as template values.
#pragma once

#include "absl/status/statusor.h"
#include "controller/playbook/compiler.h"

namespace muster::controller {

class Store;

// Makes the values outside of any transaction. Leaves out facts that cannot be parsed. Lists and
// objects in them are folded: those of thousands of machines would take a gigabyte.
absl::StatusOr<FactsByNode> ReadAllFacts(Store& store);

}  // namespace muster::controller
