// Measures the power draw of the whole node while a check runs.
#pragma once

#include <memory>

#include "absl/time/time.h"
#include "agent/burnin/check.h"

namespace muster::burnin {

// Samples in a thread of its own, in the form of common/checks/power_samples.h: the draw of
// processors and memory twice a second, and the reading of the node's own power meter every five
// seconds. A value that the machine does not report is not sampled.
class NodePower {
 public:
  // `ask_meter` false: the meter, for which every answer is work, is left alone. Everything that
  // the context refers to must live as long as the process: a thread that hangs in the BMC stays
  // behind.
  NodePower(const CheckContext& context, bool ask_meter);
  // Ends sampling; waits at most two seconds for that.
  ~NodePower();
  NodePower(const NodePower&) = delete;
  NodePower& operator=(const NodePower&) = delete;

  // Measures the draw of the processors before the load begins, for half a second; does nothing if
  // they report none.
  void MeasureRest();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace muster::burnin
