// What changes from one stack to another: what an update of workers starts from.
#pragma once

#include <string>
#include <vector>

#include "controller/stack/stack.h"

namespace muster::controller::stack {

struct StackChange {
  std::string component;  // "driver"; "os" and "kernel" for those
  std::string what;       // "version", "branch", "package nvidia-driver"
  std::string before;     // empty: there was none
  std::string after;      // empty: there is none
  bool reported = false;  // `before` is what the node reported, not what its stack says
};

// What a node has said about itself. Empty: nothing.
struct Reported {
  std::string driver;
  std::string slurm;
};

// The values that differ: those of `after` in its order, then those that only `before` has.
// `before` may be nullptr: no stack. What a node reported counts more than what its stack says.
std::vector<StackChange> DiffStacks(const Stack* before, const Stack& after,
                                    const Reported& reported);

}  // namespace muster::controller::stack
