// A check of muster-burnin: a function that measures and reports what it saw.
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

// Receives the progress of a check, and passes messages to it meanwhile. Thread-safe.
class Reporter {
 public:
  virtual ~Reporter() = default;
  // `fraction` from 0 to 1 when known.
  virtual void SetPhase(absl::string_view phase, std::optional<double> fraction) = 0;
  // `at` is not before the start of the check. Samples are also kept, thinned, for the result's
  // curves.
  virtual void AddSample(Sample sample) = 0;
  // For checks between nodes: announces where this one listens, and waits for the endpoints of all
  // ranks. Cancelled when the other end of standard input went away, DeadlineExceeded after
  // `timeout`.
  virtual absl::StatusOr<std::vector<Endpoint>> Meet(const Endpoint& listening,
                                                     absl::Duration timeout) = 0;
  // True: end soon; the measurements so far are of no interest.
  virtual bool stopping() const = 0;
};

// The input of a check.
struct CheckContext {
  const checks::Parameters& parameters;
  Reporter& reporter;
  Clock& clock;
  sys::FileSystem& files;
  sys::ProcessRunner& processes;
  // The origin of Sample::at.
  absl::Time started_at = {};
  // For checks between nodes.
  int rank = 0;
  int ranks = 1;
  std::string pair_key = {};
  // Do not refuse because other programs are working on the GPUs.
  bool force = false;
};

// Blocks until the check is over. Sets subjects, metrics, faults, digests, tools, and only those
// parts of the outcome that do not follow from the faults: see CheckResult.
using CheckFunction = CheckResult (*)(CheckContext& context);

struct CheckRunner {
  absl::string_view name;  // as in the catalogue
  CheckFunction run;
};
// One row for each check of the catalogue (checks.cc).
absl::Span<const CheckRunner> CheckRunners();

}  // namespace muster::burnin
