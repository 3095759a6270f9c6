// Rolling updates: how long a decision about a large cluster takes, and what an update of a loaded
// cluster costs, beside the two ways in which it is done without Muster.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "bench/loaded_cluster.h"
#include "controller/rollout/plan/node_step.h"
#include "controller/rollout/plan/rollout_plan.h"
#include "controller/rollout/plan/rollout_step.h"

namespace muster::controller::rollout {
namespace {

constexpr int kManyNodes = 10'000;
constexpr double kTargetMs = 20;

constexpr int kLoadedNodes = 1000;
constexpr double kLoad = 0.9;
constexpr uint64_t kSeed = 20240101;
constexpr absl::Duration kWarmUp = absl::Hours(14 * 24);

// A cluster in full use: jobs on nine of ten nodes, forty nodes behind a switch and four in a rack.
RolloutView ManyNodes(bool is_busy) {
  RolloutView view;
  view.now = absl::FromUnixSeconds(1'700'000'000);
  view.zone = absl::UTCTimeZone();
  v1::CreateRolloutRequest request;
  request.set_canary(0);
  request.set_max_per_switch(4);
  request.set_max_per_rack(1);
  request.add_windows("00:00-24:00");
  view.limits = *ResolveLimits(request, kManyNodes);
  for (int i = 0; i < kManyNodes; ++i) {
    NodeView node;
    node.name = absl::StrFormat("c%05d", i + 1);
    node.rack = absl::StrCat("rack", i / 4);
    node.switch_name = absl::StrCat("leaf", i / 40);
    node.is_connected = node.is_available = node.was_available = true;
    node.service = "in service";
    if (i % 10 > 0) {
      for (int job = 0; job < 4; ++job) {
        node.jobs.push_back({absl::StrCat(i * 4 + job), "ann", "train",
                             absl::Minutes(1 + (i * 7919 + job * 104'729) % 5000)});
      }
    }
    if (is_busy && i % 20 == 0) {
      node.step = v1::ROLLOUT_STEP_DRAINING;
      node.is_available = false;
      node.is_drained = true;
    } else if (is_busy && i % 3 == 0) {
      node.step = v1::ROLLOUT_STEP_DONE;
      node.since = view.now - absl::Seconds(i);
    }
    view.nodes.push_back(std::move(node));
  }
  return view;
}

void DecideMany(benchmark::State& state, bool is_busy) {
  const RolloutView view = ManyNodes(is_busy);
  for (auto _ : state) {
    if (Decide(view).size() < 100) state.SkipWithError("too few decisions");
  }
}

void ExplainMany(benchmark::State& state) {
  const RolloutView view = ManyNodes(true);
  for (auto _ : state) {
    if (ExplainNode(view, "c10000").empty()) state.SkipWithError("nothing was said");
  }
}

class Reporter final : public benchmark::ConsoleReporter {
 public:
  Reporter() : ConsoleReporter(OO_None) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.error_occurred) has_failed = true;
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const std::string name = run.benchmark_name();
      const bool has_target = absl::StrContains(name, "decision");
      absl::PrintF("FIGURE %s, CPU\t%.6g\tms\t%s\n", name.substr(0, name.find('/')),
                   run.GetAdjustedCPUTime(), has_target ? absl::StrCat("<= ", kTargetMs) : "");
    }
  }

  bool has_failed = false;
};

// The ways in which a cluster is updated; each is called once a tick.
class Way {
 public:
  virtual ~Way() = default;
  virtual void Tick(bench::LoadedCluster& cluster) = 0;
};

// All nodes are drained at once, are updated when the last job of all has ended, and come back
// together.
class MaintenanceWindow final : public Way {
 public:
  void Tick(bench::LoadedCluster& cluster) override {
    bool is_idle = true;
    for (bench::LoadedNode& node : cluster.nodes()) {
      node.is_held = true;
      is_idle = is_idle && node.jobs.empty();
    }
    if (cluster.AllUpdated()) {
      for (bench::LoadedNode& node : cluster.nodes()) node.is_held = false;
    } else if (is_idle && !cluster.nodes()[0].IsUpdating()) {
      for (bench::LoadedNode& node : cluster.nodes()) cluster.StartUpdate(node);
    }
  }
};

// `scontrol reboot ASAP` of all nodes: each is drained at once, and comes back when it is updated.
class RebootAsap final : public Way {
 public:
  void Tick(bench::LoadedCluster& cluster) override {
    for (bench::LoadedNode& node : cluster.nodes()) {
      node.is_held = !node.is_updated;
      if (node.is_held && node.jobs.empty() && !node.IsUpdating()) cluster.StartUpdate(node);
    }
  }
};

// Decide(), with the limits that a request without any gets.
class MusterRollout final : public Way {
 public:
  explicit MusterRollout(const bench::LoadedCluster& cluster) {
    view_.limits = *ResolveLimits({}, kLoadedNodes);
    view_.zone = absl::UTCTimeZone();
    view_.wave_since = cluster.now();
    for (int i = 0; i < kLoadedNodes; ++i) {
      NodeView node;
      node.name = absl::StrFormat("c%04d", i + 1);
      node.is_connected = node.was_available = true;
      places_[node.name] = i;
      view_.nodes.push_back(std::move(node));
    }
  }

  void Tick(bench::LoadedCluster& cluster) override {
    See(cluster);
    for (const Decision& decision : Decide(view_)) Apply(cluster, decision);
  }

 private:
  void Move(size_t i, NodeEvent event) {
    view_.nodes[i].step = *NextStep(view_.nodes[i].step, event);
    view_.nodes[i].since = view_.now;
  }

  void See(bench::LoadedCluster& cluster) {
    view_.now = cluster.now();
    for (size_t i = 0; i < view_.nodes.size(); ++i) {
      bench::LoadedNode& real = cluster.nodes()[i];
      NodeView& node = view_.nodes[i];
      if (node.step == v1::ROLLOUT_STEP_APPLYING && real.is_updated) {
        Move(i, NodeEvent::kApplied);
        Move(i, NodeEvent::kPassed);
        Move(i, NodeEvent::kBack);
        real.is_held = false;
      }
      node.is_drained = real.is_held;
      node.is_available = !real.is_held;
      node.jobs.clear();
      for (const bench::LoadedJob& job : real.jobs) {
        node.jobs.push_back({absl::StrCat(job.id), "", "", job.limit - view_.now});
      }
    }
  }

  void Apply(bench::LoadedCluster& cluster, const Decision& decision) {
    const size_t i = decision.node.empty() ? 0 : places_[decision.node];
    switch (decision.kind) {
      case Decision::kTake:
        cluster.nodes()[i].is_held = true;
        return Move(i, NodeEvent::kTaken);
      case Decision::kIdle:
        cluster.StartUpdate(cluster.nodes()[i]);
        return Move(i, NodeEvent::kIdle);
      case Decision::kWaveDone:
        view_.state = *NextState(view_.state, RolloutEvent::kWaveDone);
        return;
      case Decision::kSoaked:
        view_.state = *NextState(view_.state, RolloutEvent::kSoaked);
        ++view_.wave;
        return;
      case Decision::kComplete:
        view_.state = *NextState(view_.state, RolloutEvent::kCompleted);
        return;
      default:
        std::fprintf(stderr, "unexpected decision: %s\n", decision.reason.c_str());
        std::exit(1);
    }
  }

  RolloutView view_;
  std::map<std::string, size_t> places_;
};

// Prints what the update of all nodes costs. False: a job was ended by it.
template <typename MakeWay>
bool Measure(const std::string& name, MakeWay make) {
  bench::LoadedCluster cluster(kLoadedNodes, kLoad, kSeed);
  const absl::Time start = cluster.now() + kWarmUp;
  double load = 0;
  while (cluster.now() < start) {
    cluster.Advance();
    load = cluster.now() > start - absl::Hours(48) ? load + cluster.Load() : 0;
  }
  auto way = make(cluster);
  while (!cluster.AllUpdated()) {
    way.Tick(cluster);
    cluster.Advance();
  }
  const auto say = [&name](absl::string_view what, double value, absl::string_view unit) {
    absl::PrintF("FIGURE %s: %s\t%.6g\t%s\t\n", name, what, value, unit);
  };
  say("node-hours lost for each node", cluster.lost_node_hours() / kLoadedNodes, "h");
  say("most nodes held at once", cluster.most_held(), "nodes");
  say("until all are updated", absl::ToDoubleHours(cluster.now() - start), "h");
  say("load before", load / (absl::Hours(48) / bench::kTick) * 100, "%");
  std::fflush(stdout);
  return cluster.killed_jobs() == 0;
}

}  // namespace
}  // namespace muster::controller::rollout

int main(int argc, char** argv) {
  using namespace muster::controller::rollout;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RegisterBenchmark("the first decision of a rollout of 10000 nodes", DecideMany, false)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("a decision amid a rollout of 10000 nodes", DecideMany, true)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("explaining one of 10000 nodes", ExplainMany)
      ->Unit(benchmark::kMillisecond);
  Reporter reporter;
  if (benchmark::RunSpecifiedBenchmarks(&reporter) == 0 || reporter.has_failed) return 1;
  const bool is_fine =
      Measure("a rollout by muster",
              [](const muster::bench::LoadedCluster& cluster) { return MusterRollout(cluster); }) &&
      Measure("a maintenance window for all",
              [](const muster::bench::LoadedCluster&) { return MaintenanceWindow(); }) &&
      Measure("scontrol reboot ASAP of all",
              [](const muster::bench::LoadedCluster&) { return RebootAsap(); });
  if (!is_fine) std::fprintf(stderr, "a job was ended by the update\n");
  return is_fine ? 0 : 1;
}
