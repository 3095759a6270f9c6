// What has happened in the cluster, read from what the store has anyway: the audit log, the history
// of conditions, and the steps of network boots.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "muster/v1/timeline.pb.h"

namespace muster::controller {
class Transaction;
}

namespace muster::controller::timeline {

struct Query {
  std::set<std::string, std::less<>> nodes;  // empty: of all
  std::vector<std::string> kinds;            // and families; empty: all
};
// InvalidArgument: the host list or a kind is wrong.
absl::StatusOr<Query> QueryOf(const v1::TimelineFilter& filter);

struct Page {
  std::vector<v1::TimelineEvent> events;
  // Where the next page begins.
  v1::TimelinePosition position;
  bool is_last = false;  // there is nothing more to read for now
};

// One call reads so many rows and nodes of runs; what it has found until then is a page.
inline constexpr size_t kMaxRead = 20'000;
inline constexpr uint32_t kMaxEvents = 500;

// The place after everything that is stored.
absl::StatusOr<v1::TimelinePosition> Newest(Transaction& txn);
// Newest first, before the position; nothing from before `since`, where each source ends with the
// second of two neighbors that are older: its times may go back, but not for long. All sources are
// in the order of their own sequences, and among each other by time: positions alone say what comes
// next, so pages have neither gaps nor repeats.
absl::StatusOr<Page> ReadBackwards(Transaction& txn, const Query& query,
                                   const v1::TimelinePosition& before,
                                   std::optional<absl::Time> since, uint32_t limit);
// Oldest first, after the position.
absl::StatusOr<Page> ReadForwards(Transaction& txn, const Query& query,
                                  const v1::TimelinePosition& after, uint32_t limit);

}  // namespace muster::controller::timeline
