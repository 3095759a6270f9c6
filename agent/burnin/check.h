// What a check of muster-burnin is: a function that measures and says what it saw.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "agent/burnin/result.h"
#include "common/checks/catalog.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class FileSystem;
class ProcessRunner;
}  // namespace muster::sys

namespace muster::burnin {

struct Endpoint {
  std::string address;
  int port = 0;
};

// Where a check tells how it goes, and what it is told meanwhile. Thread-safe.
class Reporter {
 public:
  virtual ~Reporter() = default;
  // `fraction` from 0 to 1 when known.
  virtual void SetPhase(absl::string_view phase, std::optional<double> fraction) = 0;
  // `at` is not before the start of the check. Kept, thinned, for the result's curves too.
  virtual void AddSample(Sample sample) = 0;
  // Of checks between nodes: says where this one listens, and waits for all ranks' endpoints.
  // Cancelled when the other end of standard input went away, DeadlineExceeded after `timeout`.
  virtual absl::StatusOr<std::vector<Endpoint>> Meet(const Endpoint& listening,
                                                     absl::Duration timeout) = 0;
  // True: come to an end soon; what was measured so far is of no interest.
  virtual bool stopping() const = 0;
};

// What a check is given.
struct CheckContext {
  const checks::Parameters& parameters;
  Reporter& reporter;
  Clock& clock;
  sys::FileSystem& files;
  sys::ProcessRunner& processes;
  // What Sample::at counts from.
  absl::Time started_at = {};
  // Of checks between nodes.
  int rank = 0;
  int ranks = 1;
  std::string pair_key = {};
  // Other programs' work on the GPUs is no reason to refuse.
  bool force = false;
};

// Blocks until the check is over. Sets subjects, metrics, faults, digests, tools; of the outcome
// only what faults do not say: see CheckResult.
using CheckFunction = CheckResult (*)(CheckContext& context);

struct CheckRunner {
  absl::string_view name;  // as in the catalogue
  CheckFunction run;
};
// One row for each check of the catalogue (checks.cc).
absl::Span<const CheckRunner> CheckRunners();

}  // namespace muster::burnin
