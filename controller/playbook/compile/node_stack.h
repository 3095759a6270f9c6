// The stack of a node: which one was chosen, and whether it fits.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compile/scopes.h"
#include "controller/playbook/compiler.h"
#include "controller/stack/stack_diff.h"
#include "controller/stack/stack_set.h"

namespace muster::controller {

namespace playbook {

struct ChosenStack {
  const stack::Stack* stack = nullptr;  // nullptr: none
  std::string place;                    // of the variable: "group_vars/gpu.yaml:3", "-e"
};

// Evaluates the variable `stack` of the node. An empty text means none. Errors name its place.
absl::StatusOr<ChosenStack> ChooseStack(const stack::StackSet& stacks, NodeScope& node);

// The contradictions of the chosen stack with the node and its variables, each with its place.
// Variables that only make sense inside a role are left to it. REQUIRES: templates of the node see
// the stack already.
std::vector<std::string> StackProblems(const stack::StackSet& stacks, const ChosenStack& chosen,
                                       NodeScope& node);

// Chooses the stack and lets the node's templates see it.
absl::StatusOr<ChosenStack> SeeStack(const stack::StackSet& stacks, NodeScope& node);

// The same, and returns all contradictions as one error.
absl::Status TakeStack(const stack::StackSet& stacks, NodeScope& node);

}  // namespace playbook

// A node with its stack, for people.
struct NodeStack {
  std::string node;
  std::string stack;  // empty: none was chosen
  std::string place;
  std::vector<std::string> problems;
  bool has_facts = false;
};

// Compares the nodes with their stacks, or with `other` where that is not nullptr.
std::vector<NodeStack> CheckStacks(const stack::StackSet& stacks, const Inventory& inventory,
                                   const FactsByNode& facts, const std::vector<const Node*>& nodes,
                                   const stack::Stack* other);

// What each of the nodes has reported about itself.
stack::Reported ReportedBy(const FactsByNode& facts, const std::string& node);

}  // namespace muster::controller
