// Drift as text for a terminal. Pure.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::v1 {
class ListDriftResponse;
}

namespace muster::cli {

// A line for each policy, and a table of its nodes; equal ones are one row. Nodes that differ come
// first.
std::string RenderDrift(const v1::ListDriftResponse& response, absl::Time now);

// One line for `muster status`: how many nodes differ, or are not known. "": none.
std::string RenderDriftLine(const v1::ListDriftResponse& response);

}  // namespace muster::cli
