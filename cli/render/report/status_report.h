// A summary of the cluster in a few lines. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class GetStatusResponse;
}

namespace muster::cli {

// `controller` is its address, as the caller reached it.
std::string RenderStatus(const v1::GetStatusResponse& status, absl::string_view controller,
                         absl::Time now);

}  // namespace muster::cli
