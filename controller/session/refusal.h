// Ends a stream before it begins.
#pragma once

#include "absl/status/status.h"
#include "controller/session/caller.h"

namespace muster::controller {

// A gRPC reactor that only sends `status`, and deletes itself when gRPC has released it.
template <class Reactor>
class Refusal final : public Reactor {
 public:
  explicit Refusal(const absl::Status& status) { this->Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace muster::controller
