// Gives nodes another stack in the text of an inventory, where theirs is chosen now. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::cli {

// Nodes that have one stack from one place.
struct StackChoice {
  std::vector<std::string> nodes;
  std::string stack;      // "": none
  std::string chosen_at;  // "group_vars/gpu.yaml:3", below the inventory's folder; "": nowhere
};

// The files that change, by path below the inventory's folder, so that each of `nodes` has the
// stack. `choices` are those of all nodes, in files with the texts of `files`. Empty: all have it
// already.
//
// FailedPrecondition, with the place and the remedy: a node has no stack, or a place chooses the
// stack of other nodes as well. InvalidArgument: a place is written in a way that is not changed
// automatically.
absl::StatusOr<std::map<std::string, std::string>> ChooseStack(
    const std::map<std::string, std::string>& files, const std::vector<StackChoice>& choices,
    const std::set<std::string>& nodes, const std::string& stack);

}  // namespace muster::cli
