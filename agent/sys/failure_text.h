// Why a package manager failed, in few lines. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::agent {

// The first causes, one per line, then the hint and what the failed script said; "" without causes.
std::string DescribeFailure(const std::vector<std::string>& causes, absl::string_view hint,
                            const std::vector<std::string>& said);

}  // namespace muster::agent
