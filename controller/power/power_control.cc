#include "controller/power/power_control.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/plain_text.h"
#include "controller/claim/node_claims.h"
#include "controller/feed/ready_callback.h"
#include "controller/playbook/compiler.h"
#include "controller/power/bmc_password.h"
#include "controller/power/power_guard.h"
#include "controller/store/store.h"
#include "muster/v1/power.pb.h"

namespace muster::controller::power {
namespace {

// How often a thread that waits for its turn looks.
constexpr absl::Duration kTurnInterval = absl::Milliseconds(200);
constexpr size_t kMaxFailureText = 300;  // of one machine, in the audit log
constexpr size_t kMaxFailures = 20;      // kinds of them, likewise

v1::PowerState ToProto(PowerState state) {
  switch (state) {
    case PowerState::kOff:
      return v1::POWER_STATE_OFF;
    case PowerState::kOn:
      return v1::POWER_STATE_ON;
    case PowerState::kUnknown:
      break;
  }
  return v1::POWER_STATE_UNSPECIFIED;
}

bool IsChange(PowerVerb verb) { return verb != PowerVerb::kStatus; }

std::string WordsOf(const PowerAction& action) {
  constexpr absl::string_view kDevices[] = {"", ", boots once from pxe", ", boots once from disk",
                                            ", boots once into bios"};
  return absl::StrCat(PowerVerbName(action.order.verb), action.order.is_soft ? ", soft" : "",
                      kDevices[static_cast<size_t>(action.order.boot)],
                      action.force ? ", whatever Slurm says" : "",
                      action.run_id.empty() ? "" : ", for run ", action.run_id,
                      action.reason.empty() ? "" : "; reason: ", action.reason);
}

}  // namespace

// An order, and the place of its one watcher. The fields without a comment on their lock are
// constant; the rest is guarded by the lock of PowerControl, which outlives the calls that use
// them.
class PowerControl::Execution final : public PowerWatch {
 public:
  Execution(PowerControl& control, std::string id, PowerAction action, Actor actor,
            std::function<void()> on_ready)
      : control_(control),
        id(std::move(id)),
        action(std::move(action)),
        actor(std::move(actor)),
        ready_(std::move(on_ready)) {
    v1::PowerBegun& begun = *events.emplace_back().mutable_begun();
    begun.set_action_id(this->id);
    for (const PowerTarget& target : this->action.targets) {
      names.push_back(target.node);
      begun.add_nodes(target.node);
    }
    for (size_t i = 0; i < names.size(); ++i) pending.push_back(i);
    is_checked = !IsDisruptive(this->action.order.verb) || this->action.force;
  }

  std::shared_ptr<const v1::PowerEvent> Next() override {
    absl::MutexLock lock(&control_.mutex_);
    if (is_broken || events.empty()) return nullptr;
    auto event = std::make_shared<v1::PowerEvent>(std::move(events.front()));
    events.pop_front();
    return event;
  }
  bool AtEnd() override {
    absl::MutexLock lock(&control_.mutex_);
    return is_over && events.empty();
  }
  bool IsBroken() override {
    absl::MutexLock lock(&control_.mutex_);
    return is_broken;
  }
  void Cancel() override {
    ready_.Drop();
    absl::MutexLock lock(&control_.mutex_);
    is_left = true;
    control_.WakeAll();
  }

  void Notify() { ready_.Call(); }

  void Tell(size_t target, v1::PowerStep step, PowerState state, absl::string_view message) {
    if (is_left || is_broken) return;
    v1::NodePower& node = *events.emplace_back().mutable_node();
    node.set_node(names[target]);
    node.set_step(step);
    node.set_state(ToProto(state));
    node.set_message(std::string(message));
  }
  void End(size_t target, const PowerOutcome& outcome) {
    if (outcome.status.ok()) {
      ++done;
      Tell(target, v1::POWER_STEP_DONE, outcome.state, outcome.note);
      return;
    }
    const std::string why(outcome.status.message());
    failures[why].push_back(names[target]);
    Tell(target, v1::POWER_STEP_FAILED, outcome.state, why);
  }
  // "14 nodes done; c003: it does not answer; 2 nodes not begun"
  std::string Summary() const {
    std::vector<std::string> parts = {absl::StrCat(Counted(done, "node"), " done")};
    for (const auto& [why, nodes] : failures) {
      if (parts.size() > kMaxFailures) break;
      parts.push_back(absl::StrCat(FoldHostlist(nodes),
                                   " failed: ", PlainText(why, Lines::kOne, kMaxFailureText)));
    }
    if (not_begun > 0) parts.push_back(absl::StrCat(Counted(not_begun, "node"), " not begun"));
    return absl::StrJoin(parts, "; ");
  }
  bool IsCut() const { return is_left || is_broken; }

 private:
  PowerControl& control_;

 public:
  const std::string id;
  const PowerAction action;
  const Actor actor;
  std::vector<std::string> names;
  std::deque<v1::PowerEvent> events;
  std::deque<size_t> pending;  // targets that have not begun
  size_t running = 0;          // tasks in threads
  bool is_checked = false;     // Slurm has nothing against it
  bool is_checking = false;
  size_t done = 0;
  size_t not_begun = 0;
  std::map<std::string, std::vector<std::string>> failures;  // nodes by reason
  bool is_settling = false;  // its end is on the way into the audit log
  bool is_over = false;
  bool is_left = false;  // the watcher is gone
  bool is_broken = false;

 private:
  ReadyCallback ready_;  // never called under the lock of PowerControl
};

PowerControl::PowerControl(PowerCollaborators with) : with_(std::move(with)) {
  for (size_t i = 0; i < with_.threads; ++i)
    workers_.push_back(std::make_unique<Worker>(with_.clock, [this] { return Step(); }));
}

PowerControl::~PowerControl() { Stop(); }

void PowerControl::Start() {
  for (const auto& worker : workers_) worker->Start();
}

void PowerControl::EndWatches() {
  std::vector<std::shared_ptr<Execution>> open;
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
    for (const auto& [id, execution] : executions_) {
      execution->is_broken = true;
      open.push_back(execution);
    }
  }
  for (const auto& execution : open) {
    execution->Notify();
    Settle(execution);
  }
}

void PowerControl::Stop() {
  EndWatches();
  for (const auto& worker : workers_) worker->RequestStop();
  for (const auto& worker : workers_) worker->Stop();
}

bool PowerControl::IsStopping() {
  absl::MutexLock lock(&mutex_);
  return is_stopping_;
}

void PowerControl::WakeAll() {
  for (const auto& worker : workers_) worker->Wake();
}

absl::StatusOr<std::shared_ptr<PowerWatch>> PowerControl::Begin(PowerAction action,
                                                                const Actor& actor,
                                                                std::function<void()> on_ready) {
  const auto execution = std::make_shared<Execution>(*this, NewShortId("p"), std::move(action),
                                                     actor, std::move(on_ready));
  const PowerVerb verb = execution->action.order.verb;
  if (IsDisruptive(verb) && execution->action.run_id.empty()) {
    RETURN_IF_ERROR(
        with_.claims.Claim({execution->id,
                            absl::StrCat("order ", execution->id, " of ", actor.name, " (power ",
                                         PowerVerbName(verb), ") changes the power of"),
                            "wait until it has ended", with_.clock.Now()},
                           execution->names));
  }
  absl::Status stored;
  if (IsChange(verb)) {
    stored = with_.store.Update([&](Transaction& txn) {
      return Audit(txn, with_.clock.Now(), actor, "power.start", FoldHostlist(execution->names),
                   absl::StrCat(execution->id, ": ", WordsOf(execution->action)));
    });
  }
  absl::MutexLock lock(&mutex_);
  if (stored.ok() && is_stopping_) stored = absl::UnavailableError("the controller is stopping");
  if (!stored.ok()) {
    with_.claims.Release(execution->id);
    return stored;
  }
  executions_[execution->id] = execution;
  WakeAll();
  return std::shared_ptr<PowerWatch>(execution);
}

std::optional<PowerControl::Task> PowerControl::TakeTask() {
  // The order with the fewest threads comes first, so that a large one does not hold up the others.
  std::optional<Task> best;
  for (const auto& [id, execution] : executions_) {
    if (execution->IsCut() || execution->is_checking) continue;
    if (best.has_value() && best->execution->running <= execution->running) continue;
    if (!execution->is_checked) {
      best = Task{execution, std::nullopt};
      continue;
    }
    const bool switches_on = execution->action.order.verb == PowerVerb::kOn;
    for (const size_t target : execution->pending) {
      const std::string& rack = execution->action.targets[target].need.rack;
      // One thread waits for a turn in a rack; the others have better things to do.
      if (switches_on && waiting_racks_.count(rack) > 0) continue;
      best = Task{execution, target};
      break;
    }
  }
  if (!best.has_value()) return std::nullopt;
  Execution& execution = *best->execution;
  ++execution.running;
  if (best->target.has_value()) {
    execution.pending.erase(
        std::find(execution.pending.begin(), execution.pending.end(), *best->target));
  } else {
    execution.is_checking = true;
  }
  return best;
}

absl::Time PowerControl::Step() {
  std::optional<Task> task;
  std::vector<std::shared_ptr<Execution>> cut;
  {
    absl::MutexLock lock(&mutex_);
    if (!is_stopping_) task = TakeTask();
    for (const auto& [id, execution] : executions_) {
      if (execution->IsCut()) cut.push_back(execution);
    }
  }
  for (const auto& execution : cut) Settle(execution);
  if (!task.has_value()) return absl::InfiniteFuture();
  if (task->target.has_value()) {
    CarryOutFor(*task->execution, *task->target);
  } else {
    AskSlurm(*task->execution);
  }
  {
    absl::MutexLock lock(&mutex_);
    --task->execution->running;
  }
  task->execution->Notify();
  Settle(task->execution);
  return absl::InfinitePast();  // there may be more
}

void PowerControl::AskSlurm(Execution& execution) {
  const absl::Status free = CheckNoJobs(with_.slurm, with_.clock, execution.names);
  absl::MutexLock lock(&mutex_);
  execution.is_checking = false;
  execution.is_checked = true;
  if (!free.ok()) {
    const absl::Status refused = Annotate(free, "nothing was done");
    for (const size_t target : std::exchange(execution.pending, {}))
      execution.End(target, {refused, PowerState::kUnknown, ""});
  }
  WakeAll();
}

absl::Status PowerControl::AwaitTurn(Execution& execution, const PowerTarget& target,
                                     bool in_cycle) {
  std::string told;
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      const absl::Time now = with_.clock.Now();
      PowerPace::Turn turn = pace_.Ask(target.node, target.need, now);
      if (turn.is_now || (in_cycle && (is_stopping_ || turn.is_never))) {
        if (waiting_racks_.erase(target.need.rack) > 0) WakeAll();
        return absl::OkStatus();
      }
      const bool is_unwanted = !in_cycle && (is_stopping_ || execution.IsCut());
      if (is_unwanted || turn.is_never) {
        if (waiting_racks_.erase(target.need.rack) > 0) WakeAll();
        if (is_unwanted)
          return absl::CancelledError("nobody waits for it any more; it was not switched on");
        return absl::FailedPreconditionError(absl::StrCat(
            turn.why,
            "; correct power_limit_watts, node_power_watts and node_idle_watts in the inventory, "
            "or switch off another machine of the rack"));
      }
      waiting_racks_.insert(target.need.rack);
      if (told.empty()) {
        told = turn.why;
        for (size_t i = 0; i < execution.names.size(); ++i) {
          if (execution.names[i] == target.node)
            execution.Tell(i, v1::POWER_STEP_WAITING, PowerState::kOff, turn.why);
        }
      }
    }
    execution.Notify();
    with_.clock.Sleep(kTurnInterval);
  }
}

PowerOutcome PowerControl::OutcomeFor(Execution& execution, const PowerTarget& target) {
  if (!target.access.ok()) return {target.access.status(), PowerState::kUnknown, ""};
  const BmcAccess& access = *target.access;
  absl::StatusOr<SecretBuffer> password = ReadBmcPassword(with_.secrets, access);
  if (!password.ok()) return {password.status(), PowerState::kUnknown, ""};
  // An order is not cut off half-way; a question may be.
  const Cancelled is_stopped =
      IsChange(execution.action.order.verb) ? Cancelled() : [this] { return IsStopping(); };
  const std::unique_ptr<Bmc> bmc = with_.open_bmc(access, *std::move(password), is_stopped);
  const PowerSurroundings around{
      .clock = with_.clock,
      .await_turn = [&](bool in_cycle) { return AwaitTurn(execution, target, in_cycle); },
      .on_off =
          [&] {
            absl::MutexLock lock(&mutex_);
            pace_.SetOff(target.node, with_.clock.Now());
          },
      .on_asked =
          [&](absl::string_view words) {
            if (BootsMachine(execution.action.order.verb)) with_.on_boot(target.node);
            {
              absl::MutexLock lock(&mutex_);
              for (size_t i = 0; i < execution.names.size(); ++i) {
                if (execution.names[i] == target.node)
                  execution.Tell(i, v1::POWER_STEP_ASKED, PowerState::kUnknown, words);
              }
            }
            execution.Notify();
          },
      .is_hurried = [this] { return IsStopping(); },
  };
  PowerOutcome outcome = CarryOut(*bmc, execution.action.order, with_.patience, around);
  outcome.status = Annotate(outcome.status, absl::StrCat("BMC ", access.address));
  return outcome;
}

void PowerControl::CarryOutFor(Execution& execution, size_t target) {
  const PowerOutcome outcome = OutcomeFor(execution, execution.action.targets[target]);
  {
    absl::MutexLock lock(&mutex_);
    execution.End(target, outcome);
  }
  if (IsDisruptive(execution.action.order.verb))
    with_.claims.ReleaseNode(execution.id, execution.names[target]);
}

void PowerControl::Settle(const std::shared_ptr<Execution>& execution) {
  std::string summary;
  {
    absl::MutexLock lock(&mutex_);
    if (execution->IsCut()) execution->not_begun += std::exchange(execution->pending, {}).size();
    if (execution->is_settling || execution->running > 0 || !execution->pending.empty()) return;
    execution->is_settling = true;
    summary = execution->Summary();
  }
  with_.claims.Release(execution->id);
  absl::Status audited;
  if (IsChange(execution->action.order.verb)) {
    const std::string detail = absl::StrCat(execution->id, ": ", summary);
    audited = with_.store.Update([&](Transaction& txn) {
      return Audit(txn, with_.clock.Now(), execution->actor, "power.end",
                   FoldHostlist(execution->names), detail);
    });
    if (!audited.ok())
      with_.warn(absl::StrCat("the end of a power order is not in the audit log: ", detail, ": ",
                              audited.message()));
  }
  {
    absl::MutexLock lock(&mutex_);
    if (audited.ok()) {
      execution->events.emplace_back().mutable_done();
      execution->is_over = true;
    } else {
      execution->is_broken = true;
    }
    executions_.erase(execution->id);
  }
  execution->Notify();
}

}  // namespace muster::controller::power
