// Compiling one play, and the shipped site: the cost must grow linearly with the number of nodes.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/value/folded_value.h"
#include "common/value/secret_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/gpu_node_facts.h"
#include "tests/fixtures/healthy_node.h"

namespace muster::controller {
namespace {

// A site for a cluster of 200: a slurm.conf and a hosts file that name all nodes, and other tasks.
FileTree Site() {
  std::string tasks =
      "- {name: slurm.conf, file: {path: /etc/slurm/slurm.conf, template: slurm.conf.j2}}\n"
      "- {name: hosts, file: {path: /etc/hosts, template: hosts.j2}}\n"
      "- {name: own, file: {path: /etc/own, template: own.j2}}\n";
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&tasks, "- {name: p", i, ", package: {name: \"{{ prefix }}-", i, "\"}}\n");
  }
  return {{"site.yaml", "- {play: p, hosts: compute, roles: [r]}"},
          {"roles/r/tasks/main.yaml", tasks},
          {"roles/r/defaults/main.yaml", "prefix: \"lib{{ cluster }}\"\n"},
          {"roles/r/templates/slurm.conf.j2",
           "{% for n in nodes.values() %}\nNodeName={{ n.name }} CPUs={{ n.facts.cpus }}\n"
           "{% endfor %}\n"},
          {"roles/r/templates/hosts.j2",
           "{% for n in nodes.values() %}\n{{ n.address }} {{ n.name }}\n{% endfor %}\n"},
          {"roles/r/templates/own.j2", "{{ node.name }} {{ facts.cpus }}\n"}};
}

// `of_all`: variables of all nodes.
void CompileWith(benchmark::State& state, const std::string& of_all) {
  const auto count = static_cast<int>(state.range(0));
  const auto inventory =
      ParseInventory({{"cluster.yaml", absl::StrCat("cluster: big\nnodes: {\"c[10001-",
                                                    10000 + count, "]\": {role: compute}}\n")},
                      {"group_vars/all.yaml", of_all}});
  const auto playbook = LoadPlaybook(Site(), "site.yaml");
  if (!inventory.ok() || !playbook.ok()) return state.SkipWithError("the site does not load");
  FactsByNode facts;
  for (const Node& node : inventory->nodes()) facts[node.name] = {{"cpus", 64}};
  const auto nodes = SelectPlayNodes(**playbook, 0, *inventory, "");
  testing::FakeSecretSource secrets;
  for (auto _ : state) {
    const std::vector<NodePlan> plans =
        CompilePlay(**playbook, 0, *inventory, facts, *nodes, {}, secrets);
    if (plans.back().plan == nullptr) state.SkipWithError(plans.back().error.ToString().c_str());
    benchmark::DoNotOptimize(plans);
  }
  state.SetComplexityN(count);
  state.counters["nodes_per_s"] =
      benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate);
}

void CompileNodes(benchmark::State& state) { CompileWith(state, ""); }
BENCHMARK(CompileNodes)
    ->Arg(10)
    ->Arg(100)
    ->Arg(200)
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

// The nodes share a list of 200 kB, which takes no longer.
void CompileNodesWithUsers(benchmark::State& state) {
  std::string users = "users:\n";
  for (int i = 0; i < 5000; ++i)
    absl::StrAppend(&users, "  - {name: user", i, ", uid: ", 10000 + i, "}\n");
  CompileWith(state, users);
}
BENCHMARK(CompileNodesWithUsers)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

FileTree ShippedSite() {
  FileTree site;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("playbooks")) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    site[entry.path().string()] =
        std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  return site;
}

// All plays of playbooks/site.yaml, for those of `limit`, of a cluster of a login node and workers
// with eight GPUs each.
void CompileShippedSite(benchmark::State& state, const std::string& limit) {
  const auto count = static_cast<int>(state.range(0));
  const auto inventory = ParseInventory(
      {{"cluster.yaml",
        absl::StrCat("cluster: big\nnodes: {login1: {role: login, address: 10.0.0.1}, \"c[10001-",
                     10000 + count, "]\": {role: compute}}\n")}});
  const auto playbook = LoadPlaybook(ShippedSite(), "playbooks/site.yaml");
  if (!inventory.ok() || !playbook.ok()) return state.SkipWithError("the site does not load");
  FactsByNode facts;  // as the controller makes them of what agents have sent
  for (const Node& node : inventory->nodes()) {
    const v1::Facts sent =
        node.role == NodeRole::kCompute ? testing::FactsOfAGpuNode() : testing::HealthyNode(0);
    facts[node.name] = FoldMessage(sent, sent.SerializeAsString()).value();
  }
  testing::FakeSecretSource secrets;
  for (auto _ : state) {
    for (size_t play = 0; play < PlayNames(**playbook).size(); ++play) {
      const auto nodes = SelectPlayNodes(**playbook, play, *inventory, limit);
      const std::vector<NodePlan> plans =
          CompilePlay(**playbook, play, *inventory, facts, *nodes, {}, secrets);
      for (const NodePlan& plan : plans)
        if (plan.plan == nullptr) state.SkipWithError(plan.error.ToString().c_str());
      benchmark::DoNotOptimize(plans);
    }
  }
  state.SetComplexityN(count);
  state.counters["nodes_per_s"] =
      benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(CompileShippedSite, All, "")->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CompileShippedSite, Login, "login1")
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond);

// Prints the figures of docs/benchmarks.md and ./dev bench, in lines that both can read.
class FigureReporter final : public benchmark::ConsoleReporter {
 public:
  // Without colors: their end sequences would come before the figures.
  FigureReporter() : ConsoleReporter(OO_None) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const int nodes = static_cast<int>(run.complexity_n);
      const std::string& name = run.run_name.function_name;
      if (name == "CompileShippedSite/All") {
        Print(absl::StrCat("compiling playbooks/site.yaml for ", nodes, " nodes, CPU for each"),
              run.GetAdjustedCPUTime() / nodes, "ms", "");
      } else if (name == "CompileShippedSite/Login") {
        Print(absl::StrCat("compiling playbooks/site.yaml for the login node of ", nodes),
              run.GetAdjustedCPUTime(), "ms", "");
      } else {
        cpu_per_node_[nodes] = run.GetAdjustedCPUTime() / nodes;
        Print(absl::StrCat("compiling a play for ", nodes, " nodes"), run.GetAdjustedRealTime(),
              "ms", nodes == 200 ? "<= 1000" : "");
      }
    }
  }

  void Finalize() override {
    for (const int nodes : {1000, 10000}) {
      if (cpu_per_node_.count(nodes) == 0 || cpu_per_node_.count(100) == 0) continue;
      Print(absl::StrCat("compiling, CPU for a node of ", nodes, " / of 100"),
            cpu_per_node_[nodes] / cpu_per_node_[100], "times", "<= 2");
    }
  }

 private:
  static void Print(const std::string& name, double value, const char* unit, const char* target) {
    absl::PrintF("FIGURE %s\t%.6g\t%s\t%s\n", name, value, unit, target);
    std::fflush(stdout);
  }

  std::map<int, double> cpu_per_node_;
};

}  // namespace
}  // namespace muster::controller

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  muster::controller::FigureReporter reporter;
  return benchmark::RunSpecifiedBenchmarks(&reporter) == 0 ? 1 : 0;
}
