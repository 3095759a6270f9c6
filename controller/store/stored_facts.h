// The facts that all nodes reported last.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace muster::controller {

class Store;

// Calls `fn` with the name and the facts of each node that has reported any and is not removed, by
// name. `fn` runs outside of any transaction and may take its time; even with ten thousand nodes
// only a few nodes' facts are in memory at once. Facts that change meanwhile are passed either as
// they were or as they are.
absl::Status ForEachFacts(
    Store& store, absl::FunctionRef<void(const std::string& name, const std::string& facts)> fn);

}  // namespace muster::controller
