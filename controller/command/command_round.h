// One command over many nodes: which are next, which are running, and what came of them. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/v1/command.pb.h"

namespace muster::controller {

struct CommandNode {
  std::string name;
  std::string uuid;  // empty: it has not joined
};

// Keeps so much alone: at most `at_once` nodes are running or have an end that nobody has taken, so
// a slow reader slows the command down. Not thread-safe.
class CommandRound {
 public:
  // A node that has not answered `patience` after its start is lost.
  CommandRound(std::vector<CommandNode> nodes, size_t at_once, absl::Duration patience);

  // The nodes on which to start the command now.
  std::vector<CommandNode> TakeStarts(absl::Time now);
  // The end on a node, by its uuid. Ignored unless the command runs there; an outcome that no agent
  // may claim counts as lost.
  void OnEnd(absl::string_view uuid, v1::CommandEnd end);
  // The command could not be sent, or its node is gone.
  void OnLost(absl::string_view uuid, v1::CommandOutcome outcome, absl::string_view why);
  // The nodes that have taken too long, by uuid; they are lost.
  std::vector<std::string> Expire(absl::Time now);

  // The next end that has not been taken; those of nodes come in the order in which they ended.
  std::optional<v1::NodeCommandEnd> TakeEnd();

  // Every end has been taken.
  bool IsOver() const { return pending_.empty() && running_.empty() && ends_.empty(); }
  bool HasEnds() const { return !ends_.empty(); }
  // Whether TakeStarts() would find a node.
  bool CanStart() const { return !pending_.empty() && Room() > 0; }
  // When Expire() is due; InfiniteFuture(): nothing is running.
  absl::Time NextDeadline() const;
  // Uuids of the nodes where the command is running.
  std::vector<std::string> Running() const;

  // "2 nodes: 1 exited with 0, 1 timed out"; nodes without an end are "not finished".
  std::string Summary() const;
  // See v1::CommandDone. Nodes without an end count as silent.
  std::string OutputDigest() const;

 private:
  struct Start {
    std::string name;
    absl::Time deadline;
  };

  size_t Room() const;
  void End(std::string node, v1::CommandEnd end);

  const size_t at_once_;
  const absl::Duration patience_;
  std::deque<CommandNode> pending_;
  std::map<std::string, Start, std::less<>> running_;  // by uuid
  std::deque<v1::NodeCommandEnd> ends_;
  std::map<std::string, std::string> digests_;  // of the outputs, by node
  std::map<std::string, size_t> outcomes_;      // "exited with 0" → nodes
};

}  // namespace muster::controller
