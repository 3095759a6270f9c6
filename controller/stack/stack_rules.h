// Which versions of a stack contradict each other.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "controller/stack/stack.h"

namespace muster::controller::stack {

// Reports every contradiction inside the stack at the place of the value to change. Pure.
// REQUIRES: the stack was read without errors.
void CheckStack(const Stack& stack,
                absl::FunctionRef<void(const Place& place, absl::string_view message)> report);

}  // namespace muster::controller::stack
