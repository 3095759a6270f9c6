// What a look at one aspect of the node has found.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::agent::health {

enum class Status { kOk, kBad, kUnknown };

// How long something has to be seen before it counts.
struct Patience {
  absl::Duration bad_after = absl::ZeroDuration();
  absl::Duration good_after = absl::ZeroDuration();
};

// A condition that a probe looks at.
struct WatchedCondition {
  std::string name;
  Patience patience;
  // A part that is bad and then says nothing any more has got worse: it stays bad until a look has
  // seen it well (Findings::well).
  bool must_be_seen_well = false;
};

// A condition of one part of the node that is not well.
struct Finding {
  std::string condition;
  std::string object;  // the part; "": the node as a whole
  Status status = Status::kBad;
  std::string evidence;  // for people
};

// The result of a look: every condition and part that is not in `troubles` is well.
struct Findings {
  std::vector<Finding> troubles;
  // Condition and part of those that were seen well, where they must be.
  std::vector<std::pair<std::string, std::string>> well;
  // Conditions that cannot be watched on this node, for want of a program or of hardware.
  std::vector<std::string> not_watched;

  void Bad(absl::string_view condition, absl::string_view object, std::string evidence) {
    troubles.push_back(
        {std::string(condition), std::string(object), Status::kBad, std::move(evidence)});
  }
  void Unknown(absl::string_view condition, absl::string_view object, std::string evidence) {
    troubles.push_back(
        {std::string(condition), std::string(object), Status::kUnknown, std::move(evidence)});
  }
};

}  // namespace muster::agent::health
