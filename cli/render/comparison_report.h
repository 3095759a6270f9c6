// Nodes held against each other, as text for a terminal. Pure.
#pragma once

#include <string>

namespace muster::v1 {
class CompareNodesResponse;
}

namespace muster::cli {

bool HasDifferences(const v1::CompareNodesResponse& response);

// For each class of nodes a table of the traits in which they differ, the value of the most nodes
// first; with `all`, of every trait.
std::string RenderComparison(const v1::CompareNodesResponse& response, bool all);

// One line for each class in which nodes differ: which, and in what. "": none.
std::string RenderDifferences(const v1::CompareNodesResponse& response);

}  // namespace muster::cli
