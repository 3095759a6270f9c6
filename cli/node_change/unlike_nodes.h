// New nodes that are other machines than those beside which they were put.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::cli {

class Connection;
struct Context;

struct UnlikeNode {
  std::string name;
  std::string like;                      // the node that it was held against
  std::vector<std::string> differences;  // "GPUs: 4 × NVIDIA A100, not 8 × NVIDIA A100"
};

// Those of `names` that are another machine than `like`, or, where that is empty, than the node
// that their name continues. One without such a neighbor, or without facts of either, is not among
// them. Waits half a minute for the facts of machines that have just joined.
absl::StatusOr<std::vector<UnlikeNode>> FindUnlikeNodes(Context& context,
                                                        const Connection& connection,
                                                        const std::vector<std::string>& names,
                                                        const std::string& like);

// "c017 is another machine than c016: GPUs: …", a line for each.
std::string DescribeUnlike(const std::vector<UnlikeNode>& nodes);

}  // namespace muster::cli
