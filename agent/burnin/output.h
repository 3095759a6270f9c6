// The output of a worker: lines for the agent or text for a person.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/burnin/check.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// As v1::CheckProgress.
struct Progress {
  std::string phase;
  std::optional<double> fraction;
  std::vector<Sample> samples;
  std::optional<Endpoint> listening;
};

// A result with the worker's own data about it.
struct FinishedCheck {
  std::string check;
  absl::Time started_at;
  absl::Duration duration;
  CheckResult result;
  std::vector<Sample> samples;  // thinned
};

// Called by one thread at a time.
class Output {
 public:
  virtual ~Output() = default;
  virtual void Write(const Progress& progress) = 0;
  virtual void Write(const FinishedCheck& finished) = 0;
};

}  // namespace muster::burnin
