// The validations that let nodes return after their conditions are well again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/health/decision.h"
#include "controller/health/tries.h"

namespace muster::v1 {
class CreateValidationRequest;
}
namespace muster::controller {
class Store;
}

namespace muster::controller::health {

// Returns the validation's id. Blocks for Slurm.
using StartValidation =
    std::function<absl::StatusOr<std::string>(const v1::CreateValidationRequest& request)>;

// A drain that ends when its node has passed.
struct DueRetest {
  std::string node;  // its name
  std::string suite;
  HealthDrainRecord drain;
};

// Starts each test once, with the site of the newest validation of that suite. A failed one is not
// repeated until it passes by chance: the node is in quarantine, and the next test is a person's
// decision. A test that was cancelled, or that could not tell, is repeated. Thread-safe.
class Retests {
 public:
  // After a test that did not tell.
  static constexpr absl::Duration kRepeatInterval = absl::Hours(1);

  // The references must outlive the object; see Remedies about `rows`.
  Retests(Store& store, absl::Mutex& rows, StartValidation start)
      : store_(store), rows_(rows), start_(std::move(start)) {}

  // Starts the test if it is still due, and stores that it is running.
  void Start(DueRetest due, absl::Time now);
  // What the node waits for, for people: "v-7k3m9q2x is testing it"; "": nothing was tried yet.
  std::string WaitsFor(const NodeCondition& key) const { return tries_.WaitsFor(key); }

 private:
  // Looks up the drain as it is now; false: its test is not due any more.
  bool Refresh(DueRetest& due);
  absl::StatusOr<std::string> Begin(const DueRetest& due);
  // What became of the validation that was started for it, for people; nullopt: another is to be
  // started.
  absl::StatusOr<std::optional<std::string>> Earlier(const DueRetest& due, absl::Time now);

  Store& store_;
  absl::Mutex& rows_;
  const StartValidation start_;
  Tries tries_;
};

}  // namespace muster::controller::health
