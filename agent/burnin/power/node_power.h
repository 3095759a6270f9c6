// What the whole node draws while a check works on it.
#pragma once

#include <memory>

#include "absl/time/time.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Samples in a thread of its own, as common/checks/power_samples.h says: what processors and memory
// draw twice a second, and what the node's own power meter says every five seconds. What the
// machine does not tell is not sampled.
class NodePower {
 public:
  // `ask_meter` false: the meter, which works for its answers, is left alone. What the context
  // refers to must live as long as the process: a thread that hangs in the BMC stays behind.
  NodePower(const CheckContext& context, bool ask_meter);
  // Ends sampling; waits two seconds for it at most.
  ~NodePower();
  NodePower(const NodePower&) = delete;
  NodePower& operator=(const NodePower&) = delete;

  // Measures what processors draw before the load begins, half a second; not at all where they tell
  // nothing.
  void MeasureRest();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace muster::burnin
