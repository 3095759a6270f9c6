// The conditions of the node, merged from all that watches it.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "agent/health/finding.h"
#include "agent/health/hysteresis.h"

namespace muster::agent::health {

// A condition that is bad or unknown.
struct ConditionRow {
  std::string condition;
  std::string object;
  Status status = Status::kBad;
  absl::Time since;
  std::string evidence;
};

// An event of the kernel's log: its condition is bad from then on, until a time.
struct Event {
  std::string condition;
  std::string object;
  std::string evidence;
  absl::Time since;
  absl::Time until = absl::InfiniteFuture();  // the next boot
  // Where several events are about the same part, the gravest one is told. See GravityOf().
  int gravity = 0;
};

// Holds a bounded number of conditions, however many are found, and counts the others. Texts are
// cut and made plain. Not thread-safe. Pure.
class ConditionBoard {
 public:
  // As much as the controller takes in one report, with room for the agent's own conditions.
  static constexpr size_t kMaxRows = 240;
  // So many of them are kept free for conditions that drain the node by the catalogue, or that are
  // the site's own: a cable that makes every disk fail must not hide a GPU that is lost.
  static constexpr size_t kDrainRows = 64;
  static constexpr size_t kMaxObjectBytes = 120;
  static constexpr size_t kMaxEvidenceBytes = 240;

  // A look at `conditions` found troubles; everything else of them is well, unless the condition
  // is unknown for the node as a whole, or its parts must be seen well. What stays bad, or unknown,
  // has the evidence of the newest look.
  void Merge(absl::Span<const WatchedCondition> conditions, const Findings& findings,
             absl::Duration longest_step, absl::Time now);
  // Nobody watches these any more: they are neither bad nor unknown.
  void Forget(absl::string_view condition);

  // Somebody says that the condition's cause is gone; "": of every part. It begins again with the
  // next event or finding.
  void Clear(absl::string_view condition, absl::string_view object);

  // What an agent before this one found in the same boot: it is bad until a look finds it well.
  void Restore(const ConditionRow& row);
  std::vector<ConditionRow> BadFindings() const;

  // Repeated events of one condition and object are one, which is as old as the first and lasts as
  // long as the longest; its evidence is that of the newest among the gravest. True: it is a new
  // one, or graver than before.
  bool AddEvent(Event event, absl::Time now);
  void ForgetEvents(absl::string_view condition);
  // Ends events whose time is over.
  void Expire(absl::Time now);
  std::vector<Event> Events() const;

  // The condition is not reported, bad or not.
  void SetDisabled(std::set<std::string, std::less<>> names) { disabled_ = std::move(names); }
  bool IsDisabled(absl::string_view condition) const { return disabled_.count(condition) > 0; }

  // All that is bad or unknown, sorted by condition and object: an event before a finding of the
  // same name.
  std::vector<ConditionRow> Rows() const;
  // Conditions that found no room since the board was made.
  size_t dropped() const { return dropped_; }

 private:
  using Key = std::pair<std::string, std::string>;  // condition, object
  struct State {
    Hysteresis hysteresis;
    Status reported = Status::kOk;
    absl::Time since;
    std::string evidence;
  };

  bool HasRoomFor(absl::string_view condition) const;

  std::map<Key, State> states_;
  std::map<Key, Event> events_;
  std::set<std::string, std::less<>> disabled_;
  size_t dropped_ = 0;
};

}  // namespace muster::agent::health
