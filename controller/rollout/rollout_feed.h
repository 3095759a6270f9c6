// The events that watchers of one rollout see.
#pragma once

#include "controller/feed/event_feed.h"

namespace muster::controller::rollout {

using RolloutWatch = EventWatch<v1::RolloutEvent>;
using RolloutFeed = EventFeed<v1::RolloutEvent>;

// Ten events for each of 10,000 nodes; all of them are in the store as well.
inline constexpr FeedRetention kRolloutRetention = {.max_events = 100'000, .is_for_later = true};

}  // namespace muster::controller::rollout
