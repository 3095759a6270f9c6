// A watcher's view of a run: the state that its events add up to. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class PlayStarted;
class Run;
class RunEvent;
}  // namespace muster::v1

namespace muster::cli {

struct NodeView {
  std::string name;
  std::string state = "waiting";  // as NodeRecap.state
  std::string role, step;         // what is running
  std::string activity;           // "unpacking slurmd"
  float percent = -1;             // of the activity; below 0: unknown
  // In the current play, handlers not counted; a total of 0 means that it is not known. Neither
  // ever falls.
  uint32_t steps_done = 0, steps_total = 0;
  uint32_t ok = 0, changed = 0, failed = 0, skipped = 0;
  bool unreachable = false;
  std::string message;       // the first error
  bool failed_step = false;  // the event of a failed step was seen
  absl::Time step_since;     // when the running step was first seen

  // The sources of steps_done: progress, which may arrive before or after results.
  std::optional<uint32_t> play;
  std::set<std::string> results;  // ids of the play's steps that have one
  void CountSteps(uint32_t told_done);
};

// Nodes of the plays that other work held when the run began.
struct NodesLeftOut {
  std::string nodes;   // a host list
  std::string reason;  // who worked on them
};

class RunView {
 public:
  // Starts from the answer to GetRun.
  RunView(const v1::Run& run, absl::Time now);

  void Apply(const v1::RunEvent& event, absl::Time now);

  const std::string& run_id() const { return run_id_; }
  const std::string& play() const { return play_; }
  uint32_t play_index() const { return play_index_; }
  uint32_t play_count() const { return play_count_; }
  // The time since the run was created; for a run that has ended, until its end.
  absl::Duration Elapsed(absl::Time now) const;
  bool check_only() const { return check_only_; }
  // The highest sequence seen: where to resume after a broken stream.
  uint64_t sequence() const { return sequence_; }
  bool finished() const { return finished_; }
  bool cancelled() const { return cancelled_; }
  const std::string& message() const { return message_; }
  // By name.
  const std::map<std::string, NodeView>& nodes() const { return nodes_; }
  const std::vector<NodesLeftOut>& left_out() const { return left_out_; }

 private:
  void TakeRun(const v1::Run& run);
  void TakePlay(const v1::PlayStarted& started, absl::Time now);
  NodeView& At(const std::string& name);

  std::string run_id_, play_, message_;
  uint32_t play_index_ = 0, play_count_ = 0;
  absl::Time started_;
  std::optional<absl::Time> ended_;
  uint64_t sequence_ = 0;
  bool finished_ = false, cancelled_ = false, check_only_ = false;
  std::map<std::string, NodeView> nodes_;
  std::vector<NodesLeftOut> left_out_;
};

}  // namespace muster::cli
