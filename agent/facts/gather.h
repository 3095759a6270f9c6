// Runs all probes in parallel; one that fails or hangs delays nobody.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/facts/probe.h"

namespace muster {
class Clock;
}

namespace muster::agent {

// How long a probe may take before it is reported as unknown.
inline constexpr absl::Duration kProbeTimeout = absl::Seconds(5);
// How long an answer that came too late for its gathering is of use to a later one. A driver that
// has to initialize eight GPUs first takes half a minute at every call: without this its GPUs would
// never be known. Whoever asks again soon gets it, such as the next play of a run. Longer, and the
// answer might be from before a change.
inline constexpr absl::Duration kLateAnswerLife = absl::Minutes(2);

// Makes facts conform to the rules that the controller enforces (common/wire): free texts are
// cleaned, anything that still breaks a rule is left out, and `unknown` says so.
void FitFacts(v1::Facts& facts);

// Gathers facts. Thread-safe.
class FactsGatherer {
 public:
  // `clock` and everything that `context` points to must outlive the process's probes: they are
  // globals of main(), or outlive the test.
  FactsGatherer(ProbeContext context, std::vector<Probe> probes, Clock& clock,
                absl::Duration timeout = kProbeTimeout);
  ~FactsGatherer();

  // Blocks for at most `timeout`, after the calls of other threads that are running. A probe
  // without an answer by then is unknown ("no answer in 5s"), unless an earlier attempt of it has
  // ended too late for its call: then that answer counts, once and for kLateAnswerLife. While a
  // probe still hangs, later calls report it so at once and do not start another.
  // `with_packages`: as of v1::GatherFacts.
  v1::Facts Gather(bool with_packages = false);

 private:
  struct Slot;
  // One call at a time: another's running probes would pass for hanging ones.
  absl::Mutex gathering_;
  const ProbeContext context_;
  const std::vector<Probe> probes_;
  Clock& clock_;
  const absl::Duration timeout_;
  // Shared with the probes' threads, which may outlive this object when they hang.
  std::vector<std::shared_ptr<Slot>> slots_;
};

}  // namespace muster::agent
