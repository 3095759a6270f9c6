// Update policies as text for a terminal. Pure.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::v1 {
class ListUpdatePoliciesResponse;
}

namespace muster::cli {

// A table; "" where the inventory has none.
std::string RenderPolicies(const v1::ListUpdatePoliciesResponse& response, absl::Time now);
// A line each, for the summary of the cluster.
std::string RenderPolicyLines(const v1::ListUpdatePoliciesResponse& response, absl::Time now);

}  // namespace muster::cli
