// Follows the time line until Ctrl-C.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/timeline.pb.h"

namespace muster::cli {

class Connection;
struct Context;

// Prints an event in the requested form.
void PrintTimelineEvent(const Context& context, const v1::TimelineEvent& event);

// Prints each event that is after the request's position. Returns OK after
// Ctrl-C.
absl::Status WatchTimeline(Context& context, Connection& connection,
                           const v1::WatchTimelineRequest& request);

}  // namespace muster::cli
