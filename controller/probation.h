// What an exchange of musterd leaves in the state folder for it; agent/upgrade/service_state.h
// writes it, as root.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster::controller {

class Store;

// Thread-safe.
class Probation {
 public:
  explicit Probation(std::string state_directory) : folder_(std::move(state_directory)) {}

  // This musterd may still be taken back, and its store with it: it must record nothing that
  // counts.
  bool IsOn() const;
  // Puts what came of the last exchange into the audit log, once.
  absl::Status NoteOutcome(Store& store, absl::Time now) const;

 private:
  const std::string folder_;
};

}  // namespace muster::controller
