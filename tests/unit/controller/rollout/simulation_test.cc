// Whole rollouts over simulated clusters, with what may never happen checked at every step.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "controller/rollout/plan/node_step.h"
#include "controller/rollout/plan/rollout_plan.h"
#include "controller/rollout/plan/rollout_step.h"
#include "tests/unit/controller/rollout/rollout_views.h"
#include "tests/unit/controller/rollout/simulated_cluster.h"

namespace muster::controller::rollout {
namespace {

enum class Times { kAlways, kNights, kWeekends };

// Written down apart from the parser.
bool IsInTime(Times times, absl::Time now) {
  const int64_t minutes = absl::ToUnixSeconds(now) / 60;
  const int64_t hour = minutes / 60 % 24;
  const int64_t weekday = (minutes / (24 * 60) + 3) % 7;  // 1970-01-01 was a Thursday; Monday: 0
  return times == Times::kAlways ||
         (times == Times::kNights ? hour >= 22 || hour < 6 : weekday >= 5);
}

// A rollout over a simulated cluster, as the runner drives it.
class Simulation {
 public:
  Simulation(uint64_t seed, int nodes);

  // One step; false after the first problem.
  bool Step();
  // Steps until the rollout has ended. Returns the first problem, or "".
  std::string Run();

  const std::string& problem() const { return problem_; }
  const RolloutView& view() const { return view_; }
  int taken() const { return taken_; }
  int requeued() const { return cluster_.requeued_jobs(); }

 private:
  struct Work {
    absl::Time ends = absl::InfiniteFuture();
    bool is_kept_out = false;
  };

  void Fail(const std::string& what) {
    if (problem_.empty()) problem_ = absl::StrCat(what, " at ", absl::FormatTime(view_.now));
  }
  bool IsLongAway(size_t i) {
    const SimulatedNode& real = cluster_.nodes()[i];
    return !real.is_connected && view_.now - real.away_since > absl::Minutes(10);
  }
  bool IsSettledPause() const;
  absl::Duration Bound() const;

  void See();
  void AskSomethingOfIt();
  void FinishWork(size_t i);
  void RemoveNode();
  void Move(size_t i, NodeEvent event, const std::string& reason);
  void MoveAll(RolloutEvent event, const std::string& reason);
  void Apply(const Decision& decision);

  // The rules.
  void CheckBatch(const std::vector<Decision>& decisions);
  void CheckTaken(size_t i);
  void CheckLimit(const char* what, uint32_t limit, size_t i,
                  bool (*is_near)(const NodeView&, const NodeView&));
  void CheckIdle(size_t i);
  void CheckRequeue(size_t i);
  void CheckLeftOut(size_t i);
  void CheckAll();

  Random random_;
  SimulatedCluster cluster_;
  RolloutView view_;
  Times times_ = Times::kAlways;
  uint64_t fails_one_in_;
  std::vector<Work> work_;
  std::map<std::string, size_t> places_;
  std::string problem_;
  int taken_ = 0;
};

Simulation::Simulation(uint64_t seed, int nodes)
    : random_(seed), cluster_(random_, nodes), fails_one_in_(4 + random_.Below(40)) {
  view_.zone = absl::UTCTimeZone();
  view_.now = view_.wave_since = cluster_.now();
  Limits& limits = view_.limits;
  const auto all = static_cast<uint32_t>(nodes);
  for (uint32_t size = random_.OneIn(3) ? all : 1; size < all; size *= 2 + random_.Below(5)) {
    limits.wave_sizes.push_back(size);
  }
  limits.wave_sizes.push_back(all);
  limits.max_unavailable = 1 + random_.Below(1 + nodes / 4);
  if (random_.OneIn(2)) limits.max_per_rack = 1 + random_.Below(2);
  if (random_.OneIn(2)) limits.max_per_switch = 1 + random_.Below(4);
  limits.failure_budget = random_.Below(6);
  limits.rolls_back = random_.OneIn(3);
  if (random_.OneIn(2)) limits.soak = random_.Minutes(1, 300);
  if (random_.OneIn(2)) limits.drain_timeout = random_.Minutes(5, 600);
  limits.passes_over = random_.OneIn(2);
  limits.requeues = !limits.passes_over && random_.OneIn(2);
  if (nodes < 30 && random_.OneIn(2)) {
    times_ = random_.OneIn(3) ? Times::kWeekends : Times::kNights;
    limits.windows = {
        *ParseWindow(times_ == Times::kNights ? "22:00-06:00" : "Sat,Sun 00:00-24:00")};
  }
  for (int i = 0; i < nodes; ++i) {
    NodeView node;
    node.name = cluster_.nodes()[i].name;
    node.since = view_.now;
    node.was_available = cluster_.nodes()[i].IsAvailable();
    node.rack = random_.OneIn(8) ? "" : absl::StrCat("r", i / 4);
    node.switch_name = random_.OneIn(8) ? "" : absl::StrCat("s", i / 10);
    places_[node.name] = i;
    view_.nodes.push_back(std::move(node));
  }
  work_.resize(nodes);
}

// What the runner sees of the cluster.
void Simulation::See() {
  view_.now = cluster_.now();
  view_.slurm_trouble = cluster_.slurm_answers() ? "" : "slurmctld is away";
  for (size_t i = 0; i < view_.nodes.size(); ++i) {
    const SimulatedNode& real = cluster_.nodes()[i];
    NodeView& node = view_.nodes[i];
    node.is_connected = real.is_connected && !real.is_removed;
    node.is_removed = real.is_removed;
    node.away_since = real.away_since;
    node.is_available = real.IsAvailable();
    node.is_drained = real.IsDrained();
    node.busy = !IsActive(node.step) && real.busy_until > view_.now ? "run r-1" : "";
    node.jobs.clear();
    for (const SimulatedJob& job : real.jobs) {
      node.jobs.push_back({job.id, "", "", job.limit - view_.now});
    }
  }
}

void Simulation::Move(size_t i, NodeEvent event, const std::string& reason) {
  NodeView& node = view_.nodes[i];
  const auto next = NextStep(node.step, event);
  if (!next.ok()) return Fail(absl::StrCat(node.name, ": ", next.status().ToString()));
  node.step = *next;
  node.since = view_.now;
  node.message = reason;
  if (event == NodeEvent::kPassedOver) node.passed_over = true;
  SimulatedNode& real = cluster_.nodes()[i];
  work_[i].is_kept_out = IsFailure(node.step);
  work_[i].ends = view_.now + random_.Minutes(1, 90);
  if (node.step == v1::ROLLOUT_STEP_APPLYING) cluster_.Update(real);
  real.is_to_be_held =
      (IsActive(node.step) && node.step != v1::ROLLOUT_STEP_RESUMING) || work_[i].is_kept_out;
}

void Simulation::MoveAll(RolloutEvent event, const std::string& reason) {
  const auto next = NextState(view_.state, event);
  if (!next.ok()) return Fail(next.status().ToString());
  view_.state = *next;
  view_.wave_since = view_.now;
  view_.message = reason;
  if (event == RolloutEvent::kSoaked) ++view_.wave;
  if (event == RolloutEvent::kResumed) view_.forgiven = FailuresToForgive(view_);
}

// The runs and validations of the nodes that are being updated.
void Simulation::FinishWork(size_t i) {
  NodeView& node = view_.nodes[i];
  SimulatedNode& real = cluster_.nodes()[i];
  if (real.is_removed) return;
  const bool is_lucky = !cluster_.has_faults() || !random_.OneIn(fails_one_in_);
  // Somebody repairs what failed.
  if (work_[i].is_kept_out && random_.OneIn(30)) {
    work_[i].is_kept_out = false;
    real.is_to_be_held = false;
  }
  // As the runner: the jobs that are there after it was decided.
  if (node.step == v1::ROLLOUT_STEP_REQUEUING && real.IsDrained()) cluster_.Requeue(real);
  if (node.step == v1::ROLLOUT_STEP_RESUMING && !real.is_held) {
    return Move(i, NodeEvent::kBack, "");
  }
  if (view_.now < work_[i].ends) return;
  if (node.step == v1::ROLLOUT_STEP_APPLYING) {
    const bool is_applied = is_lucky && real.is_connected;
    return Move(i,
                !is_applied         ? NodeEvent::kApplyFailed
                : random_.OneIn(10) ? NodeEvent::kUnchanged
                                    : NodeEvent::kApplied,
                "");
  }
  if (node.step == v1::ROLLOUT_STEP_VALIDATING) {
    Move(i,
         is_lucky           ? NodeEvent::kPassed
         : random_.OneIn(2) ? NodeEvent::kNotPassed
                            : NodeEvent::kUntested,
         "");
  }
}

// Somebody removes a node from the cluster. Decide() sees to those that are not being updated yet.
void Simulation::RemoveNode() {
  if (!cluster_.has_faults() || !random_.OneIn(1000)) return;
  const size_t i = random_.Below(view_.nodes.size());
  cluster_.nodes()[i].is_removed = true;
  const v1::RolloutStep step = view_.nodes[i].step;
  if (IsActive(step) && !IsEmptying(step)) {
    Move(i, NodeEvent::kLeftOut, "removed from the cluster");
  }
}

// What people do with the rollout as a whole.
void Simulation::AskSomethingOfIt() {
  if (view_.state == v1::ROLLOUT_STATE_PAUSED && random_.OneIn(20)) {
    return MoveAll(RolloutEvent::kResumed, "");
  }
  if (!cluster_.has_faults() || HasEnded(view_.state)) return;
  static constexpr struct {
    RolloutEvent event;
    int one_in;
  } kWishes[] = {{RolloutEvent::kPaused, 300},
                 {RolloutEvent::kAborted, 2000},
                 {RolloutEvent::kRolledBack, 2000}};
  for (const auto& wish : kWishes) {
    if (random_.OneIn(wish.one_in) && NextState(view_.state, wish.event).ok()) {
      return MoveAll(wish.event, "somebody asked for it");
    }
  }
}

void Simulation::CheckBatch(const std::vector<Decision>& decisions) {
  std::set<std::string> nodes;
  for (size_t k = 0; k < decisions.size(); ++k) {
    const bool is_whole = decisions[k].kind >= Decision::kWaveDone;
    if (is_whole != decisions[k].node.empty()) Fail("a decision about a node without one");
    if (is_whole && k + 1 < decisions.size()) Fail("a decision about the whole is not the last");
    if (!is_whole && !nodes.insert(decisions[k].node).second) Fail("two decisions about a node");
    if (!is_whole && places_.count(decisions[k].node) == 0) return Fail("an unknown node");
  }
}

void Simulation::CheckLimit(const char* what, uint32_t limit, size_t i,
                            bool (*is_near)(const NodeView&, const NodeView&)) {
  const NodeView& taken = view_.nodes[i];
  uint32_t out = 1;
  uint32_t active = 1;
  for (size_t k = 0; k < view_.nodes.size(); ++k) {
    const NodeView& other = view_.nodes[k];
    if (k == i || cluster_.nodes()[k].is_removed || !is_near(taken, other)) continue;
    const bool is_worked_on =
        other.step == v1::ROLLOUT_STEP_REQUEUING ||
        (other.step >= v1::ROLLOUT_STEP_DRAINING && other.step <= v1::ROLLOUT_STEP_RESUMING);
    if (is_worked_on) ++active;
    if (is_worked_on || !cluster_.nodes()[k].IsAvailable()) ++out;
  }
  if (active > limit) Fail(absl::StrCat(taken.name, " is one too many at work, ", what));
  if (cluster_.nodes()[i].IsAvailable() && out > limit) {
    Fail(absl::StrCat(taken.name, " is one too many out of service, ", what));
  }
}

void Simulation::CheckTaken(size_t i) {
  const NodeView& node = view_.nodes[i];
  const Limits& limits = view_.limits;
  if (view_.state != v1::ROLLOUT_STATE_ROLLING) Fail("a node is taken while it is not rolling");
  if (node.is_removed) Fail("a node is taken that was removed");
  if (!IsInTime(times_, view_.now)) Fail("a node is taken outside the windows");
  if (!cluster_.slurm_answers()) Fail("a node is taken while Slurm does not answer");
  if (!cluster_.nodes()[i].is_connected) Fail("a node is taken that is not connected");
  if (!node.busy.empty()) Fail("a node is taken that other work holds");
  uint32_t in_wave = 1;
  uint32_t failures = 0;
  bool has_available = false;
  for (const NodeView& other : view_.nodes) {
    if (other.step != v1::ROLLOUT_STEP_PENDING && other.step != v1::ROLLOUT_STEP_SKIPPED) ++in_wave;
    if (other.step == v1::ROLLOUT_STEP_FAILED || other.step == v1::ROLLOUT_STEP_QUARANTINED) {
      ++failures;
    }
    has_available |= other.step == v1::ROLLOUT_STEP_PENDING && other.is_available;
  }
  if (in_wave > limits.wave_sizes[view_.wave]) Fail("a node is taken beyond the wave");
  if (failures > view_.forgiven.failed + limits.failure_budget)
    Fail("a node is taken after failures");
  if (view_.wave == 0 && limits.wave_sizes.size() > 1 && has_available && !node.is_available) {
    Fail("the canary is out of service");
  }
  CheckLimit("of all", limits.max_unavailable, i,
             [](const NodeView&, const NodeView&) { return true; });
  if (limits.max_per_rack > 0 && !node.rack.empty()) {
    CheckLimit("of its rack", limits.max_per_rack, i,
               [](const NodeView& a, const NodeView& b) { return a.rack == b.rack; });
  }
  if (limits.max_per_switch > 0 && !node.switch_name.empty()) {
    CheckLimit("of its switch", limits.max_per_switch, i,
               [](const NodeView& a, const NodeView& b) { return a.switch_name == b.switch_name; });
  }
}

void Simulation::CheckIdle(size_t i) {
  const SimulatedNode& real = cluster_.nodes()[i];
  if (!real.jobs.empty()) Fail(absl::StrCat(real.name, " is updated under its jobs"));
  if (!real.IsDrained()) Fail(absl::StrCat(real.name, " is updated while it may get jobs"));
  if (!real.is_connected) Fail(absl::StrCat(real.name, " is updated while it is not connected"));
  if (!cluster_.slurm_answers()) Fail("a node is updated while nobody knows its jobs");
}

void Simulation::CheckRequeue(size_t i) {
  const SimulatedNode& real = cluster_.nodes()[i];
  if (!view_.limits.requeues) Fail(absl::StrCat(real.name, ": jobs are requeued unasked"));
  if (view_.now - view_.nodes[i].since <= view_.limits.drain_timeout) {
    Fail(absl::StrCat(real.name, ": jobs are requeued before their time"));
  }
  if (!real.IsDrained()) Fail(absl::StrCat(real.name, ": requeued jobs could start there again"));
  if (!cluster_.slurm_answers()) Fail("jobs are requeued while nobody knows them");
}

void Simulation::CheckLeftOut(size_t i) {
  const NodeView& node = view_.nodes[i];
  if (view_.state == v1::ROLLOUT_STATE_ABORTING || view_.state == v1::ROLLOUT_STATE_ROLLING_BACK) {
    return;
  }
  if (node.is_removed) return;
  if (IsEmptying(node.step)) {
    if (!node.passed_over) Fail(absl::StrCat(node.name, " is left out the first time"));
    return;
  }
  if (!IsLongAway(i)) Fail(absl::StrCat(node.name, " is left out and was there a moment ago"));
  if (!IsInTime(times_, view_.now)) Fail("a node is left out outside the windows");
  if (!cluster_.slurm_answers()) Fail("a node is left out while Slurm does not answer");
  for (const NodeView& other : view_.nodes) {
    const bool is_reachable = other.step == v1::ROLLOUT_STEP_PENDING && other.is_connected;
    if (IsActive(other.step) || is_reachable) {
      Fail(absl::StrCat(node.name, " is left out while others are updated"));
    }
  }
}

void Simulation::Apply(const Decision& decision) {
  const size_t i = decision.node.empty() ? 0 : places_[decision.node];
  switch (decision.kind) {
    case Decision::kTake:
      CheckTaken(i);
      ++taken_;
      return Move(i, NodeEvent::kTaken, decision.reason);
    case Decision::kIdle:
      CheckIdle(i);
      return Move(i, NodeEvent::kIdle, decision.reason);
    case Decision::kPassOver:
      if (view_.nodes[i].passed_over) Fail("a node is passed over twice");
      if (!view_.limits.passes_over && !IsLongAway(i)) Fail("a node is passed over unasked");
      if (decision.reason.empty()) Fail("a node is passed over for no reason");
      return Move(i, NodeEvent::kPassedOver, decision.reason);
    case Decision::kGiveBack:
      return Fail("a node is given back though its update may go on");
    case Decision::kLeaveOut:
      CheckLeftOut(i);
      if (decision.reason.empty()) Fail("a node is left out for no reason");
      return Move(i, NodeEvent::kLeftOut, decision.reason);
    case Decision::kRequeue:
      CheckRequeue(i);
      if (decision.reason.empty()) Fail("jobs are requeued for no reason");
      return Move(i, NodeEvent::kOverdue, decision.reason);
    case Decision::kWaveDone:
      return MoveAll(RolloutEvent::kWaveDone, decision.reason);
    case Decision::kSoaked:
      if (view_.now - view_.wave_since < view_.limits.soak) Fail("the soak is cut short");
      return MoveAll(RolloutEvent::kSoaked, decision.reason);
    case Decision::kPause:
    case Decision::kRollBack:
      if (decision.reason.empty()) Fail("it is stopped for no reason");
      if ((decision.kind == Decision::kRollBack) != view_.limits.rolls_back) Fail("the wrong stop");
      return MoveAll(
          decision.kind == Decision::kPause ? RolloutEvent::kPaused : RolloutEvent::kRolledBack,
          decision.reason);
    case Decision::kComplete:
      return MoveAll(RolloutEvent::kCompleted, decision.reason);
    case Decision::kSettle:
      return MoveAll(RolloutEvent::kSettled, decision.reason);
  }
}

// What holds whatever was decided.
void Simulation::CheckAll() {
  uint32_t active = 0;
  uint32_t open = 0;
  std::map<std::string, uint32_t> racks;
  std::map<std::string, uint32_t> switches;
  for (const NodeView& node : view_.nodes) {
    if (!IsOver(node.step)) ++open;
    if (!IsActive(node.step)) continue;
    ++active;
    if (view_.limits.max_per_rack > 0 && !node.rack.empty() &&
        ++racks[node.rack] > view_.limits.max_per_rack) {
      Fail("too many at work in a rack");
    }
    if (view_.limits.max_per_switch > 0 && !node.switch_name.empty() &&
        ++switches[node.switch_name] > view_.limits.max_per_switch) {
      Fail("too many at work behind a switch");
    }
  }
  if (active > view_.limits.max_unavailable) Fail("too many at work");
  if (cluster_.killed_jobs() > 0) Fail("a job was ended");
  if (cluster_.requeued_jobs() > 0 && !view_.limits.requeues) Fail("a job was requeued unasked");
  if (HasEnded(view_.state) && open > 0) Fail("it ended with nodes that are not over");
  if (view_.state == v1::ROLLOUT_STATE_SOAKING && active > 0) Fail("it soaks with nodes at work");
}

bool Simulation::Step() {
  cluster_.Advance();
  See();
  for (size_t i = 0; i < view_.nodes.size(); ++i) FinishWork(i);
  RemoveNode();
  AskSomethingOfIt();
  See();
  const std::vector<Decision> decisions = Decide(view_);
  CheckBatch(decisions);
  for (const Decision& decision : decisions) {
    if (!problem_.empty()) break;
    Apply(decision);
  }
  CheckAll();
  return problem_.empty();
}

bool Simulation::IsSettledPause() const {
  return view_.state == v1::ROLLOUT_STATE_PAUSED && !view_.message.empty() &&
         std::none_of(view_.nodes.begin(), view_.nodes.end(),
                      [](const NodeView& node) { return IsActive(node.step); });
}

// Generous: one node after the other, each taken twice, each with its longest jobs.
absl::Duration Simulation::Bound() const {
  const int turns = 2 * static_cast<int>(view_.nodes.size()) + 5;
  const int days = times_ == Times::kWeekends ? 8 : 2;
  return turns * days * absl::Hours(24) + view_.limits.soak * view_.limits.wave_sizes.size();
}

std::string Simulation::Run() {
  const absl::Time stop_faults = cluster_.now() + random_.Minutes(60, 5 * 24 * 60);
  while (Step()) {
    if (HasEnded(view_.state)) return "";
    if (view_.now < stop_faults) continue;
    cluster_.StopFaults();
    if (IsSettledPause() && random_.OneIn(3)) return "";
    if (view_.now - stop_faults > Bound()) {
      Fail("it has not ended");
      break;
    }
  }
  return problem_;
}

int SizeOf(uint64_t seed) {
  Random random(seed * 7919);
  const uint64_t kind = random.Below(100);
  return static_cast<int>(1 + random.Below(kind < 80 ? 6 : kind < 98 ? 20 : 200));
}

TEST(RolloutSimulation, NeverBreaksARuleAndAlwaysEnds) {
  int seeds = 1500;
  if (const char* more = std::getenv("MUSTER_SIMULATION_SEEDS"); more != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(more, &seeds)) << "MUSTER_SIMULATION_SEEDS: not a number";
  }
  std::map<std::string, int> ends;
  int taken = 0;
  int requeued = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    Simulation simulation(seed, SizeOf(seed));
    const std::string problem = simulation.Run();
    ASSERT_EQ(problem, "") << "seed " << seed << ", " << SizeOf(seed) << " nodes";
    ++ends[std::string(StateName(simulation.view().state))];
    taken += simulation.taken();
    requeued += simulation.requeued();
  }
  // It would prove little if hardly anything happened.
  EXPECT_GT(taken, seeds);
  // Of many seeds 4.5 % requeue.
  EXPECT_GT(requeued, std::max(seeds / 25, std::min(seeds, 1500) / 20));
  for (const char* end : {"completed", "aborted", "rolled back", "paused"}) {
    EXPECT_GT(ends[end], seeds / 200) << end;
  }
}

TEST(RolloutSimulation, TenThousandNodes) {
  int taken = 0;
  // Some begin with a canary that may not be taken yet.
  for (int seed = 1; seed <= 20 && taken < 20; ++seed) {
    Simulation simulation(seed, 10'000);
    for (int step = 0; step < 3; ++step) {
      ASSERT_TRUE(simulation.Step()) << "seed " << seed << ": " << simulation.problem();
    }
    taken += simulation.taken();
  }
  EXPECT_GE(taken, 20);
}

}  // namespace
}  // namespace muster::controller::rollout
