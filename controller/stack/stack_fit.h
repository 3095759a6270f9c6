// Whether a stack fits a node: its GPUs, kernel, system and variables.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "controller/inventory/inventory.h"
#include "controller/stack/gpu_models.h"
#include "controller/stack/stack.h"

namespace muster::controller::stack {

// What is known of a node. Empty: unknown, and not compared.
struct NodeState {
  std::string os_id;       // "debian"
  std::string os_version;  // "12"
  // uname -r; of a container, which runs its host's kernel and builds no modules for it: unknown.
  std::string kernel;
  std::string next_kernel;               // that the next boot starts; the same holds for it
  std::vector<std::string> gpu_devices;  // PCI device ids of NVIDIA's display controllers
  Word gpu_model;                        // the inventory's variable
};

// The contradictions, each with the place in the stack's file. Empty: the stack fits as far as is
// known. Pure.
std::vector<std::string> CheckFit(const Stack& stack, const NodeState& node,
                                  const GpuModels& models);

// A variable of the roles that a stack decides.
struct PinnedVariable {
  absl::string_view name;       // "gpu_driver_branch"
  absl::string_view component;  // "driver"
  absl::string_view word;       // "branch"
};
const std::vector<PinnedVariable>& PinnedVariables();

// "", or the contradiction between a variable's value, written at `place`, and the stack. They
// agree if one continues the other, "535" and "535.261.03"; a glob's * is left out, and "auto"
// agrees with everything.
std::string CheckPinned(const Stack& stack, const PinnedVariable& variable, absl::string_view value,
                        absl::string_view place);

}  // namespace muster::controller::stack
