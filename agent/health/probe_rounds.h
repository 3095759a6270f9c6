// Runs probes when they are due, each in a thread of its own: one that hangs delays nobody.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/health/probes/probe.h"
#include "common/health/limits.h"

namespace muster::agent::health {

// Not thread-safe: one thread calls its methods.
class ProbeRounds {
 public:
  // `wake` is called, in a probe's thread, when a look has ended, until this object's end.
  explicit ProbeRounds(std::function<void()> wake);
  ~ProbeRounds();

  // The probes of a group from now on. A probe that hangs is left to itself.
  void Set(const std::string& group, std::vector<ProbeSpec> probes);

  struct Outcome {
    ProbeSpec spec;
    absl::StatusOr<Findings> findings;
  };
  // Takes the looks that have ended, and starts those that are due. A look that takes longer than
  // its limit is DeadlineExceeded, once each interval until it ends, and no other is started.
  std::vector<Outcome> Step(const muster::health::Limits& limits, absl::Time now);
  // When Step() has something to do, unless `wake` was called before.
  absl::Time NextDue(absl::Time now) const;

 private:
  struct Look;
  struct Bell;
  struct Slot {
    ProbeSpec spec;
    std::shared_ptr<Look> look;  // nullptr: none is running
    absl::Time started;
    absl::Time due = absl::InfinitePast();
  };

  absl::Status Start(Slot& slot, const muster::health::Limits& limits, absl::Time now);

  const std::shared_ptr<Bell> bell_;
  std::map<std::string, std::vector<Slot>> groups_;
};

}  // namespace muster::agent::health
