#include "controller/gate/reboot_drains.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "controller/gate/job_gate.h"

namespace muster::controller::validation {
namespace {

DrainAnswer AnswerFrom(const SlurmLook& look, const std::string& node, absl::Time held_since) {
  if (!look.trouble.empty()) return {DrainAnswer::kNotYet, look.trouble, {}};
  if (const auto jobs = look.jobs.find(node); jobs != look.jobs.end() && !jobs->second.empty())
    return {DrainAnswer::kJobs, "", jobs->second};
  if (look.IsOut(node, held_since)) return {DrainAnswer::kIdle, "", {}};
  const auto in_slurm = look.nodes.find(node);
  return {DrainAnswer::kNotYet,
          absl::StrCat("Slurm still has it as ",
                       in_slurm == look.nodes.end() ? "unknown" : in_slurm->second.state),
          {}};
}

}  // namespace

RebootDrains::RebootDrains(JobGate& gate, slurm::SlurmControl& slurm, Clock& clock)
    : gate_(gate), slurm_(slurm), clock_(clock), worker_(clock, [this] { return Step(); }) {}

DrainAnswer RebootDrains::Ask(const std::string& node, absl::Time held_since) {
  absl::MutexLock lock(&mutex_);
  if (const auto found = seen_.find(node); found != seen_.end()) {
    const Seen seen = std::move(found->second);
    seen_.erase(found);
    const absl::Duration age = clock_.Now() - seen.until;
    // A look from the future is one from before the clock was set back.
    const bool is_fresh = age >= absl::ZeroDuration() && age <= kFresh;
    if (is_fresh && seen.look->at >= held_since) {
      DrainAnswer answer = AnswerFrom(*seen.look, node, held_since);
      if (answer.kind != DrainAnswer::kNotYet) return answer;
      asked_.insert(node);
      worker_.Wake();
      return answer;
    }
  }
  asked_.insert(node);
  worker_.Wake();
  return {DrainAnswer::kNotYet, "Slurm has not answered yet", {}};
}

void RebootDrains::Look() {
  std::vector<std::string> nodes;
  {
    absl::MutexLock lock(&mutex_);
    nodes.assign(asked_.begin(), asked_.end());
    asked_.clear();
  }
  if (nodes.empty()) return;
  // What the gate could not drain is seen in a moment.
  gate_.Reconcile().IgnoreError();
  const auto look = std::make_shared<const SlurmLook>(LookAtSlurm(slurm_, clock_, nodes));
  absl::MutexLock lock(&mutex_);
  const absl::Time now = clock_.Now();
  // Nobody came back for these.
  for (auto each = seen_.begin(); each != seen_.end();)
    each = now - each->second.until > kFresh ? seen_.erase(each) : std::next(each);
  for (const std::string& node : nodes) seen_[node] = {look, now};
}

absl::Time RebootDrains::Step() {
  const absl::Time before = clock_.Now();
  const bool is_set_back = pause_until_ - before > kPause;
  if (before < pause_until_ && !is_set_back) return pause_until_;
  Look();
  pause_until_ = clock_.Now() + kPause;
  // A question from meanwhile has woken the worker.
  return absl::InfiniteFuture();
}

}  // namespace muster::controller::validation
