// What an update would do, before it starts. Pure.
#pragma once

#include <string>

namespace muster::v1 {
class PreviewRolloutResponse;
}

namespace muster::cli {

// The most jobs that a forecast lists.
inline constexpr size_t kMaxForecastJobs = 40;

// The limits, how long it takes and on what assumptions, what each wave finds on its nodes, and the
// jobs that are in the way, those that take longest first.
std::string RenderForecast(const v1::PreviewRolloutResponse& preview);

// "Update 8 nodes of cluster hpc1, c[001-008], at most 1 at once?"
std::string UpdateQuestion(const v1::PreviewRolloutResponse& preview);

}  // namespace muster::cli
