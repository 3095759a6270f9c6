// A probe of the node's health, and the list of all probes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "agent/health/finding.h"
#include "agent/health/hysteresis.h"
#include "agent/health/trend.h"
#include "common/health/limits.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class ProcessRunner;
}

namespace muster::agent {
class UnitManager;
}

namespace muster::agent::health {

class RenewalTrouble;
class XidInbox;

// The uuids of the GPUs by PCI address, for those who know only where a GPU is. Thread-safe.
class GpuNames {
 public:
  void Set(std::map<std::string, std::string> uuids);
  // The UUID of the GPU whose address begins so; "": not known.
  std::string At(absl::string_view slot) const;
  bool empty() const;

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, std::string> uuids_ ABSL_GUARDED_BY(mutex_);
};

// What probes look at and remember. Everything that it points to must outlive the process's probes:
// a hanging one outlives its caller.
struct ProbeContext {
  // Put before every path: "" on a node, a folder with a copied tree in tests.
  std::string root;
  sys::ProcessRunner* processes = nullptr;
  UnitManager* units = nullptr;
  Clock* clock = nullptr;
  Trends* trends = nullptr;
  GpuNames* gpus = nullptr;
  const RenewalTrouble* renewal = nullptr;
  // The worker that reads the GPUs.
  std::string burnin = "muster-burnin";
  // The agent's, root's alone: for what programs keep between their runs.
  std::string state_directory;
};

// One aspect of the node, looked at again and again by one thread at a time.
class Probe {
 public:
  virtual ~Probe() = default;
  // May hang. An error: it could not look, and all its conditions are unknown.
  virtual absl::StatusOr<Findings> Look(const muster::health::Limits& limits) = 0;
  // Restores a finding of the previous agent process in this boot: it counts as bad until a look
  // finds it well. Called for each of them before the first look.
  virtual void Restore(const std::string& condition, const std::string& object) {}
};

// A probe with what it is for.
struct ProbeSpec {
  std::string name;
  std::vector<WatchedCondition> conditions;
  absl::Duration interval;
  absl::Duration time_limit;  // a look that takes longer hangs
  std::shared_ptr<Probe> probe;
};

// Every probe of the catalogue's conditions, except those that the kernel's log reports.
std::vector<ProbeSpec> MakeProbes(const ProbeContext& context);

// The one for Xids where the log cannot be read. Its looks last minutes, and what it hears goes
// into the inbox at once.
ProbeSpec MakeXidProbe(const ProbeContext& context, std::shared_ptr<XidInbox> inbox);

std::unique_ptr<Probe> MakeGpuProbe(const ProbeContext& context);
std::unique_ptr<Probe> MakeNicProbe(const ProbeContext& context);
std::unique_ptr<Probe> MakeInfinibandProbe(const ProbeContext& context);
std::unique_ptr<Probe> MakeFileSystemProbe(const ProbeContext& context);
std::unique_ptr<Probe> MakeMountProbe(const ProbeContext& context);
std::unique_ptr<Probe> MakeDiskProbe(const ProbeContext& context);
std::unique_ptr<Probe> MakeBmcProbe(const ProbeContext& context);
std::unique_ptr<Probe> MakeMemoryProbe(const ProbeContext& context);
std::unique_ptr<Probe> MakeUnitProbe(const ProbeContext& context);
std::unique_ptr<Probe> MakeTimeProbe(const ProbeContext& context);
std::unique_ptr<Probe> MakeCertificateProbe(const ProbeContext& context);

}  // namespace muster::agent::health
