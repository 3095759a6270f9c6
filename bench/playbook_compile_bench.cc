// Compiling one play: the cost must grow with the number of nodes, and no faster.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/value/secret_value.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compiler.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_secret_source.h"

namespace muster::controller {
namespace {

// A cluster of 200 has a slurm.conf and a hosts file that name all nodes, and tasks of its own.
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

void CompileNodes(benchmark::State& state) {
  const auto count = static_cast<int>(state.range(0));
  const auto inventory =
      ParseInventory({{"cluster.yaml", absl::StrCat("cluster: big\nnodes: {\"c[10001-",
                                                    10000 + count, "]\": {role: compute}}\n")}});
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
BENCHMARK(CompileNodes)
    ->Arg(10)
    ->Arg(100)
    ->Arg(200)
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

}  // namespace
}  // namespace muster::controller

BENCHMARK_MAIN();
