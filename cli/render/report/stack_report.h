// Stacks, as text for a terminal.
#pragma once

#include <string>

#include "muster/v1/stack.pb.h"

namespace muster::cli {

// A row for each stack.
std::string RenderStackList(const v1::ReadStacksResponse& response);

// Everything that a stack says.
std::string RenderStack(const v1::Stack& stack);

// The nodes with their stacks, and the contradictions below.
std::string RenderStackCheck(const v1::CheckStacksResponse& response);

// What changes, and the contradictions of nodes with the new stack.
std::string RenderStackDiff(const v1::DiffStacksResponse& response);

}  // namespace muster::cli
