// Decides whether a reboot is allowed.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace muster::v1 {
class RebootPermit;
}

namespace muster::agent {

// Thread-safe.
class RebootGate {
 public:
  virtual ~RebootGate() = default;
  // Asks the controller, repeatedly while it is away, until it has answered or `stopping` is true
  // (Cancelled). FailedPrecondition: refused, with the reason. Blocks.
  virtual absl::StatusOr<v1::RebootPermit> Ask(const std::string& plan_id,
                                               const std::string& step_id,
                                               const std::string& reason,
                                               const std::function<bool()>& stopping) = 0;
};

}  // namespace muster::agent
