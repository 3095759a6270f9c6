// Decides which nodes of a rollout may be taken, and what becomes of the whole: pure decisions,
// from what is stored and what was seen a moment ago.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/text/slurm_job.h"
#include "controller/rollout/plan/limits.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller::rollout {

// One node, as stored and as seen.
struct NodeView {
  std::string name;
  v1::RolloutStep step = v1::ROLLOUT_STEP_PENDING;
  absl::Time since = absl::UnixEpoch();  // in this step
  std::string message;                   // of the step, as stored
  bool was_available = false;            // before the rollout: it was connected and took jobs
  bool passed_over = false;
  // A login or storage node is none: it counts against no limit, and follows when all workers are
  // over.
  bool is_worker = true;
  std::string rack;         // "": in none
  std::string switch_name;  // "": not known
  bool is_connected = false;
  // Since when it is not connected. Infinite past: longer than matters.
  absl::Time away_since = absl::InfinitePast();
  // Connected, and Slurm may start jobs on it; without a Slurm, and of a node that is no worker:
  // connected. A node that is not available is unavailable for whatever reason.
  bool is_available = false;
  // Slurm's power saving has powered it down, or powers it down or up: it serves, since a job that
  // needs it has it powered up, but its agent need not be connected.
  bool is_power_saved = false;
  // Other work, a validation or a run, keeps it out of service, and gives it back.
  bool is_worked_on = false;
  // A person keeps it out of service.
  bool is_persons = false;
  // No job can start on it: somebody drained it, it is down, or Slurm does not know it.
  bool is_drained = false;
  bool is_silent = false;      // slurmctld does not reach its slurmd, so that no job starts there
  std::string service;         // in words: "in service", "drained by root: bad disk"
  std::vector<SlurmJob> jobs;  // on it now
  // It is not in the cluster any more, or not in the inventory: it counts against no limit, and is
  // left out.
  bool is_removed = false;
  bool waits_for_run = false;    // it is to be updated, and its run has not begun
  bool waits_for_suite = false;  // it is to be validated, and that has not begun
  std::string busy;              // "run r-7k3m9q2x of admin:ann": other work holds it. "": none
};

// An agent that starts anew, and all of them after a start of the controller, connect within this
// time; a node that is not connected for longer is away.
inline constexpr absl::Duration kAwayGrace = absl::Minutes(10);
// Within the failure budget, so many failures in a row are too many all the same.
inline constexpr int kFailuresInARow = 3;

// A worker of the cluster that is no node of the rollout.
struct OtherWorker {
  std::string name;
  std::string rack;         // "": in none
  std::string switch_name;  // "": not known
};

// What does not count any more since the rollout was resumed last.
struct Forgiven {
  uint32_t failed = 0;  // nodes
  uint32_t out = 0;     // nodes that are done and went out of service since
};

struct RolloutView {
  v1::RolloutState state = v1::ROLLOUT_STATE_ROLLING;
  std::string message;
  uint32_t wave = 0;
  absl::Time wave_since = absl::UnixEpoch();  // in this state and wave
  Forgiven forgiven;
  Limits limits;
  // "": Slurm has answered, or there is none yet. Otherwise nothing that needs it is decided: no
  // node is taken, none counts as idle.
  std::string slurm_trouble;
  // Why its creator may not have it carried out any more, and what ends it. "": they may.
  std::string no_mandate;
  absl::Time now;
  absl::TimeZone zone;          // of the windows
  std::vector<NodeView> nodes;  // in the order of the inventory
  // Those that are out of service: they count within their racks and behind their switches, where
  // there are such limits.
  std::vector<OtherWorker> others_out;
};

struct Decision {
  enum Kind {
    kTake,      // the node gets a slot
    kIdle,      // the draining node has no job and none can start
    kPassOver,  // the draining node goes back and comes last
    kGiveBack,  // the draining node goes back, and is taken again when it may be
    kLeaveOut,  // the node ends without an update
    kRequeue,   // the jobs on the draining node are put back into the queue
    kWaveDone,  // of the whole, as RolloutEvent
    kSoaked,    //
    kPause,     //
    kRollBack,  //
    kComplete,  //
    kSettle,    //
  };
  Kind kind;
  std::string node;    // of the first six
  std::string reason;  // for people; may be empty
};

// What has to be done now, in this order; at most one decision about the whole, which is then the
// last. What holds for every order of calls:
//
// - At most max_unavailable nodes are out of service: a node that is available is only taken where
//   those that are not, and those that are active, leave room for one more; in its rack and behind
//   its switch likewise, where the cluster's other workers count, too. A node that Slurm's
//   power saving has is not out. One that is out already costs nothing, but at most max_unavailable
//   nodes are active at once, whatever they were before.
// - Only kRolling takes nodes, only inside a window, while Slurm answers, and only up to the size
//   of the wave, in which skipped nodes do not count: others take their places. Nodes that are not
//   connected or that other work holds are not taken; when no node is active and all pending ones
//   are away, those are left out, but only while nodes could be taken, too.
// - The canary's nodes are available ones if there are any; so are those of any first wave that
//   others follow. Otherwise nodes that are out already come first, then those without jobs, then
//   those whose last job ends soonest; passed over ones come last, and a node whose jobs have no
//   limit comes after those with one.
// - Nodes that are no workers are taken one after the other, in the order of the view, when every
//   worker is over; waves, canaries and limits are of workers alone.
// - A draining node is idle when it is connected, drained and has no jobs. One that is longer in
//   that step than drain_timeout is passed over once, and left out the second time, if the limits
//   say so; one that is away is whatever they say. Removed nodes are left out at once.
// - Jobs are requeued only if the limits say so, once drain_timeout has passed, and on a node on
//   which no job can start. A node whose jobs are being requeued is idle as a draining one is.
// - More than failure_budget failures beyond the forgiven ones, or three in a row (by the time at
//   which they ended) within it, pause the rollout or roll it back. So does a node that is done and
//   was available before but is not any more, when a wave has soaked, unless it is forgiven, or a
//   person keeps it out. One that other work keeps out is waited for. A rollout that would pause
//   when every node is over completes instead, with the reason. So does one that updated no node;
//   any other completes without a reason.
// - A wave is done when its nodes are taken and over; the last one completes the rollout.
// - In kAborting and kRollingBack pending and draining nodes are left out, and those whose run has
//   not begun; the rollout settles when no node is active. In kPaused active nodes continue, and
//   the rollout never completes.
// - A rollout that its creator may not have carried out any more pauses, and its draining nodes go
//   back.
std::vector<Decision> Decide(const RolloutView& view);

// RolloutView::forgiven of a rollout that is resumed now.
Forgiven FailuresToForgive(const RolloutView& view);

// What the node waits for or what became of it, in a sentence or two: "waits for job 4711 (ann,
// train), which ends in at most 3 h 10 min", "waits for a slot: 1 of 1 nodes is out of service
// (c002)", "waits for wave 2: …", "waits for the window, which opens on Sat 22:00". `view` as for
// Decide().
std::string ExplainNode(const RolloutView& view, absl::string_view node);

// The nodes in the order in which Decide() would take them if nothing changed, with their wave.
struct Place {
  std::string node;
  uint32_t wave = 0;
};
std::vector<Place> ForecastOrder(const RolloutView& view);

}  // namespace muster::controller::rollout
