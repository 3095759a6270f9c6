// A watcher's view of a rollout: what its events add up to, and the lines that are redrawn in place
// on a terminal. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/render/run/run_screen.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {

class RolloutView {
 public:
  // From the answer to GetRollout or CreateRollout. Nodes are pending and nothing has happened
  // until the events say so, all of which have to be applied.
  explicit RolloutView(const v1::Rollout& rollout);

  // Events that were applied before are ignored.
  void Apply(const v1::RolloutEvent& event);

  // The highest sequence seen: where to resume after a broken stream.
  uint64_t sequence() const { return sequence_; }
  bool finished() const;
  // As its events tell; without runs, validations and events.
  const v1::Rollout& rollout() const { return rollout_; }

 private:
  v1::Rollout rollout_;
  std::map<std::string, int> places_;  // in rollout_.nodes(), by name
  uint64_t sequence_ = 0;
};

// Whether an event stays on a terminal above the screen: what the screen does not show later.
bool StaysOnTerminal(const v1::RolloutEvent& event);

// A headline, the progress of the waves, a line for each active node with its message, then nodes
// that failed: each shorter than the screen is wide. Lines that find no room are counted.
std::vector<std::string> RenderRolloutScreen(const v1::Rollout& rollout, ScreenSize size,
                                             absl::Time now);

}  // namespace muster::cli
