// The events that watchers of one validation see, live.
#pragma once

#include <memory>

#include "controller/feed/event_feed.h"

namespace muster::controller::validation {

using ValidationWatch = EventWatch<v1::ValidationEvent>;
using ValidationFeed = EventFeed<v1::ValidationEvent>;

// Nothing for later: the verdicts are in the store.
inline constexpr FeedRetention kValidationRetention = {.max_events = 20'000, .max_passing = 256};

}  // namespace muster::controller::validation
