// Thousands of agents against one musterd: memory, a run over all of them, their health and the
// page that shows it, heartbeats under a storm of viewers, and all agents reconnecting at once.
//
//   agent_swarm_bench [--nodes N]… [--viewers N] [--musterd PATH] [--muster PATH] [--site FOLDER]
//
// The agents are simulated, in this process; streams, certificates, musterd and muster are the real
// ones. Listens and connects on the loopback only. Each figure is a line
// "FIGURE name value unit target", separated by tabs.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "bench/swarm/health_watch.h"
#include "bench/swarm/swarm_cluster.h"
#include "bench/swarm/viewer_storm.h"
#include "common/base/status.h"
#include "tests/fakes/agent_swarm.h"

namespace muster::bench {
namespace {

struct Targets {
  size_t nodes;
  const char *rss_mib, *peak_mib, *run_s, *storm_s, *idle_percent;
  const char *health_percent, *view_kb;
};
constexpr Targets kTargets[] = {
    {100, "", "", "", "", "", "", ""},
    {1'000, "<= 200", "", "<= 5", "<= 10", "", "", ""},
    {10'000, "<= 1300", "<= 1500", "<= 15", "<= 60", "<= 15", "<= 30", "<= 300"},
};

struct Options {
  std::vector<size_t> nodes;
  size_t viewers = 100;  // 0: no storm
  SwarmCluster::Programs programs;
};

absl::StatusOr<Options> Parse(int argc, char** argv) {
  const std::filesystem::path own = std::filesystem::canonical("/proc/self/exe").parent_path();
  Options options;
  options.programs = {own / "../bin/musterd", own / "../bin/muster", "."};
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i];
    if (i + 1 == argc) return absl::InvalidArgumentError(absl::StrCat(key, " needs a value"));
    const std::string value = argv[i + 1];
    size_t count = 0;
    if (key == "--nodes" && absl::SimpleAtoi(value, &count) && count > 0 && count <= 20'000) {
      options.nodes.push_back(count);
    } else if (key == "--viewers" && absl::SimpleAtoi(value, &count) && count <= 1'000) {
      options.viewers = count;
    } else if (key == "--musterd") {
      options.programs.musterd = std::filesystem::absolute(value);
    } else if (key == "--muster") {
      options.programs.muster = std::filesystem::absolute(value);
    } else if (key == "--site") {
      options.programs.site = value;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("what is ", key, " ", value, "?"));
    }
  }
  if (options.nodes.empty()) options.nodes = {100, 1'000};
  return options;
}

void Figure(size_t nodes, const char* name, double value, const char* unit, const char* target) {
  std::printf("FIGURE swarm_%zu_%s\t%.*f\t%s\t%s\n", nodes, name, value < 100 ? 2 : 0, value, unit,
              target);
  std::fflush(stdout);
}

Targets TargetsOf(size_t nodes) {
  for (const Targets& row : kTargets) {
    if (row.nodes == nodes) return row;
  }
  return {nodes, "", "", "", "", "", "", ""};
}

double SecondsSince(absl::Time start) { return absl::ToDoubleSeconds(absl::Now() - start); }

absl::Status AwaitAll(const testing::AgentSwarm& swarm, size_t nodes) {
  if (swarm.AwaitGreeted(nodes, absl::Minutes(5))) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat(swarm.greeted(), " of ", nodes, " agents are greeted after five minutes"));
}

absl::Status MeasureRun(SwarmCluster& cluster, size_t nodes, const testing::AgentSwarm& swarm) {
  const Targets targets = TargetsOf(nodes);
  RETURN_IF_ERROR(cluster.Muster({"inventory", "apply", cluster.folder() + "/inventory"}));
  ResetPeak(cluster.controller());
  ASSIGN_OR_RETURN(const ProcessUse before, UseOf(cluster.controller()));
  const absl::Time start = absl::Now();
  RETURN_IF_ERROR(cluster.Muster({"apply", "playbooks/site.yaml", "--yes", "--skip-validation"}));
  Figure(nodes, "run", SecondsSince(start), "s", targets.run_s);
  // Each node has work in one of the plays.
  if (swarm.finished_plans() != nodes) {
    return absl::InternalError(
        absl::StrCat("the run ended, and ", swarm.finished_plans(), " of ", nodes, " plans did"));
  }
  ASSIGN_OR_RETURN(const ProcessUse at_end, UseOf(cluster.controller()));
  Figure(nodes, "run_controller_cpu", at_end.cpu_s - before.cpu_s, "s", "");
  Figure(nodes, "run_reports", static_cast<double>(swarm.sent_reports()), "reports", "");
  Figure(nodes, "run_peak_rss", at_end.peak_rss_mib, "MiB", targets.peak_mib);
  absl::SleepFor(absl::Seconds(3));
  ASSIGN_OR_RETURN(const ProcessUse after, UseOf(cluster.controller()));
  Figure(nodes, "rss_after_run", after.rss_mib, "MiB", targets.rss_mib);
  return absl::OkStatus();
}

constexpr absl::Duration kHealthWatch = absl::Minutes(1);

absl::Status MeasureHealth(SwarmCluster& cluster, size_t nodes, testing::AgentSwarm& swarm) {
  const Targets targets = TargetsOf(nodes);
  ASSIGN_OR_RETURN(const HealthFigures figures, WatchHealth(cluster, swarm, nodes, kHealthWatch));
  Figure(nodes, "health_controller_cpu", figures.cpu_percent, "% of a core",
         targets.health_percent);
  Figure(nodes, "health_changes", figures.changes_per_s, "per s", "");
  Figure(nodes, "health_to_page_median", PercentileMs(figures.to_page, 0.5), "ms", "");
  Figure(nodes, "health_to_page_longest", PercentileMs(figures.to_page, 1), "ms", "<= 1000");
  Figure(nodes, "health_to_page_unseen", static_cast<double>(figures.unseen), "conditions", "<= 0");
  Figure(nodes, "page_first_view", absl::ToDoubleMilliseconds(figures.first_view.time), "ms",
         "<= 1000");
  Figure(nodes, "page_first_view_size", static_cast<double>(figures.first_view.bytes) / 1000, "kB",
         targets.view_kb);
  return absl::OkStatus();
}

constexpr absl::Duration kViewersStorm = absl::Seconds(30);

absl::Status MeasureHeartbeats(SwarmCluster& cluster, size_t nodes,
                               const testing::AgentSwarm& swarm, size_t viewers) {
  ASSIGN_OR_RETURN(const ProcessUse before, UseOf(cluster.controller()));
  ASSIGN_OR_RETURN(const StormFigures figures, Storm(cluster, swarm, viewers, kViewersStorm));
  ASSIGN_OR_RETURN(const ProcessUse after, UseOf(cluster.controller()));
  const std::string name = absl::StrCat("heartbeat_of_", viewers, "_viewers_");
  const auto figure = [&](const char* what, double value, const char* unit, const char* target) {
    Figure(nodes, absl::StrCat(name, what).c_str(), value, unit, target);
  };
  figure("p50", PercentileMs(figures.heartbeats, 0.5), "ms", "");
  figure("p99", PercentileMs(figures.heartbeats, 0.99), "ms", viewers > 0 ? "<= 100" : "");
  figure("max", PercentileMs(figures.heartbeats, 1), "ms", "");
  figure("measured", static_cast<double>(figures.heartbeats.size()), "heartbeats", "");
  figure("unseen", static_cast<double>(figures.unseen), "heartbeats", "");
  if (viewers == 0) return absl::OkStatus();
  const double seconds = absl::ToDoubleSeconds(kViewersStorm);
  figure("answered", static_cast<double>(figures.answered) / seconds, "calls/s", "");
  figure("refused", static_cast<double>(figures.refused) / seconds, "calls/s", "");
  figure("failed", static_cast<double>(figures.failed), "calls", "= 0");
  figure("controller_cpu", after.cpu_s - before.cpu_s, "s", "");
  figure("peak_rss", after.peak_rss_mib, "MiB", "");
  return absl::OkStatus();
}

absl::Status MeasureStorm(SwarmCluster& cluster, size_t nodes, const testing::AgentSwarm& swarm) {
  const uint64_t attempts = swarm.attempts();
  const absl::Time start = absl::Now();
  cluster.KillController();
  RETURN_IF_ERROR(cluster.StartController());
  Figure(nodes, "storm_controller_start", SecondsSince(start), "s", "");
  // Agents that still count as greeted may be on a dead connection.
  while (swarm.attempts() < attempts + nodes && SecondsSince(start) < 120)
    absl::SleepFor(absl::Milliseconds(10));
  RETURN_IF_ERROR(AwaitAll(swarm, nodes));
  Figure(nodes, "storm", SecondsSince(start), "s", TargetsOf(nodes).storm_s);
  ASSIGN_OR_RETURN(const ProcessUse use, UseOf(cluster.controller()));
  Figure(nodes, "storm_controller_cpu", use.cpu_s, "s", "");
  Figure(nodes, "storm_attempts", static_cast<double>(swarm.attempts() - attempts), "connections",
         "");
  return absl::OkStatus();
}

absl::Status Measure(const Options& options, size_t nodes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SwarmCluster> cluster,
                   SwarmCluster::Make(options.programs, nodes));
  RETURN_IF_ERROR(cluster->StartController());
  absl::SleepFor(absl::Seconds(1));
  ASSIGN_OR_RETURN(const ProcessUse empty, UseOf(cluster->controller()));
  Figure(nodes, "rss_empty", empty.rss_mib, "MiB", "");
  testing::AgentSwarm swarm(cluster->SwarmOptions(), cluster->TakeMachines());
  const absl::Time start = absl::Now();
  swarm.Start();
  RETURN_IF_ERROR(AwaitAll(swarm, nodes));
  Figure(nodes, "connect", SecondsSince(start), "s", "");
  absl::SleepFor(absl::Seconds(3));
  ASSIGN_OR_RETURN(const ProcessUse idle, UseOf(cluster->controller()));
  Figure(nodes, "rss_connected", idle.rss_mib, "MiB", TargetsOf(nodes).rss_mib);
  Figure(nodes, "rss_per_session", (idle.rss_mib - empty.rss_mib) * 1024 / nodes, "kiB", "");
  Figure(nodes, "threads", idle.threads, "threads", "");
  absl::SleepFor(absl::Seconds(10));
  ASSIGN_OR_RETURN(const ProcessUse later, UseOf(cluster->controller()));
  Figure(nodes, "idle_cpu", (later.cpu_s - idle.cpu_s) * 10, "% of a core",
         TargetsOf(nodes).idle_percent);
  RETURN_IF_ERROR(MeasureRun(*cluster, nodes, swarm));
  RETURN_IF_ERROR(MeasureHealth(*cluster, nodes, swarm));
  for (const size_t viewers : std::set<size_t>{0, options.viewers})
    RETURN_IF_ERROR(MeasureHeartbeats(*cluster, nodes, swarm, viewers));
  RETURN_IF_ERROR(MeasureStorm(*cluster, nodes, swarm));
  swarm.Stop();
  return absl::OkStatus();
}

absl::Status Main(int argc, char** argv) {
  ASSIGN_OR_RETURN(const Options options, Parse(argc, argv));
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  for (const size_t nodes : options.nodes) {
    if (nodes + 200 > files.rlim_max) {
      return absl::ResourceExhaustedError(absl::StrCat(nodes, " agents need as many open files, ",
                                                       files.rlim_max,
                                                       " are allowed: raise `ulimit -Hn`"));
    }
    RETURN_IF_ERROR(Annotate(Measure(options, nodes), absl::StrCat(nodes, " agents")));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  // As in musterd: the deadlock detection is not to be measured.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const absl::Status status = muster::bench::Main(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "agent_swarm_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
