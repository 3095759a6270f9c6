// The time line for people.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::v1 {
class ListTimelineResponse;
class TimelineEvent;
}  // namespace muster::v1

namespace muster::cli {

// A table, newest first, with times of `zone`.
std::string RenderTimeline(const v1::ListTimelineResponse& response, absl::TimeZone zone);
// One line, for a watch.
std::string RenderTimelineEvent(const v1::TimelineEvent& event, absl::TimeZone zone);

}  // namespace muster::cli
