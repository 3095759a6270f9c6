// Has workers that are to reboot drained in Slurm, for callers that must not wait for it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/text/slurm_job.h"
#include "common/base/worker.h"
#include "controller/gate/slurm_look.h"

namespace muster {
class Clock;
}

namespace muster::controller::validation {

class JobGate;

// What is known of a node that is being drained.
struct DrainAnswer {
  enum Kind {
    kNotYet,  // ask again
    kJobs,    // there are jobs on it, drained or not
    kIdle,    // no job can start on it, and after that none was on it
  };
  Kind kind = kNotYet;
  std::string why;             // of kNotYet, for people: "Slurm still has it as IDLE"
  std::vector<SlurmJob> jobs;  // of kJobs
};

// The rule is that of rollouts: nothing can start on the node, and after that Slurm is asked for
// its jobs (see SlurmLook). Thread-safe.
class RebootDrains {
 public:
  // An answer counts this long; an agent repeats its question about twice as often.
  static constexpr absl::Duration kFresh = absl::Seconds(12);
  // The minimum pause between two looks, however many nodes are asked about.
  static constexpr absl::Duration kPause = absl::Milliseconds(500);

  // The references must outlive the object.
  RebootDrains(JobGate& gate, slurm::SlurmControl& slurm, Clock& clock);

  void Start() { worker_.Start(); }
  // Waits for a look that is running: Slurm's waits must end first.
  void Stop() { worker_.Stop(); }

  // What the newest look says of a node for which a hold is in the store since `held_since`. Each
  // look answers once; without one that is fresh, and begun after the hold, the next is begun.
  // Does not block.
  DrainAnswer Ask(const std::string& node, absl::Time held_since);
  // Has the gate drain what is held, and looks at the nodes that were asked about since the last
  // look. In the caller's thread; the worker calls it when there are any.
  void Look();

 private:
  struct Seen {
    std::shared_ptr<const SlurmLook> look;
    absl::Time until;  // when Slurm had answered
  };

  absl::Time Step();

  JobGate& gate_;
  slurm::SlurmControl& slurm_;
  Clock& clock_;
  absl::Mutex mutex_;
  std::set<std::string> asked_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Seen> seen_ ABSL_GUARDED_BY(mutex_);  // by node
  absl::Time pause_until_ = absl::InfinitePast();             // the worker's own
  Worker worker_;
};

}  // namespace muster::controller::validation
