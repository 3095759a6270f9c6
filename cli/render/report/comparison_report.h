// Nodes held against each other, as text for a terminal. Pure.
#pragma once

#include <string>
#include <vector>

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

// In which parts `node` is another machine than `like`: "GPUs: 4 × NVIDIA A100, not 8 × NVIDIA
// A100". Firmware and software do not count, and neither does a value that one of them lacks.
std::vector<std::string> HardwareDifferences(const v1::CompareNodesResponse& response,
                                             const std::string& node, const std::string& like);

}  // namespace muster::cli
