// Which nodes a run need not ask for their facts. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

// A node that has told a run its facts, and on which nothing has changed since, is not asked again
// by the same run within this time.
inline constexpr absl::Duration kFactsFresh = absl::Seconds(30);
// Nor by a run that does not work on it within this one: it reports by itself when it connects, and
// thousands of nodes do not answer every run over one of them.
inline constexpr absl::Duration kFactsFreshOutside = absl::Minutes(10);
// A run waits for the answer to another run's question only when that is younger than this: an
// answer that takes longer may never come.
inline constexpr absl::Duration kQuestionShared = absl::Seconds(5);

// The questions of all runs and their answers, by the nodes' uuids and the plans' ids. In memory
// alone: after a restart of the controller nothing is fresh. Not thread-safe.
class FactsFreshness {
 public:
  // The node was asked for the plan's play, whatever it was asked before.
  void OnAsked(const std::string& uuid, const std::string& plan_id, absl::Time now);
  // The answer for that play is in the store. Without effect when Forget() was called meanwhile:
  // the node may have looked before the change.
  void OnTold(absl::string_view uuid, absl::string_view plan_id);
  // Its facts may be others now: it has connected or left, or a step has changed it, or a command
  // or a check has run on it.
  void Forget(absl::string_view uuid);

  // For a run that works on the node.
  bool IsFreshInRun(absl::string_view uuid, absl::string_view run_id, absl::Time now) const;
  // For a run that does not.
  bool IsFreshOutside(absl::string_view uuid, absl::Time now) const;
  // The plan whose question another run may share; "": there is none, or it is too old.
  std::string OpenQuestion(absl::string_view uuid, absl::Time now) const;

 private:
  struct Question {
    std::string plan_id;
    absl::Time asked_at;
  };
  struct Node {
    std::optional<Question> open;
    std::optional<Question> told;  // the last that was answered
  };

  const Node* Find(absl::string_view uuid) const;

  std::map<std::string, Node, std::less<>> nodes_;
};

}  // namespace muster::controller
