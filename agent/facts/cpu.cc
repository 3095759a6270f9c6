// CPU topology, counted by hwloc as Slurm counts it.
#include <hwloc.h>

#include <algorithm>
#include <cstdlib>

#include "agent/facts/probe.h"
#include "agent/facts/processor_topology.h"
#include "common/base/status.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

uint32_t Count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return static_cast<uint32_t>(std::max(0, hwloc_get_nbobjs_by_type(topology, type)));
}

}  // namespace

void KeepHwlocSmall() { ::setenv("HWLOC_PLUGINS_PATH", "/nonexistent", /*overwrite=*/1); }

absl::Status ProbeCpu(const ProbeContext& context, v1::Facts& facts) {
  ASSIGN_OR_RETURN(const ProcessorTopology topology, LoadProcessorTopology());
  hwloc_topology* const raw = topology.get();

  const uint32_t threads = std::max(1u, Count(raw, HWLOC_OBJ_PU));
  const uint32_t cores = std::max(1u, Count(raw, HWLOC_OBJ_CORE));
  const uint32_t sockets = std::max(1u, Count(raw, HWLOC_OBJ_PACKAGE));

  v1::CpuFacts& cpu = *facts.mutable_cpu();
  cpu.set_cpus(threads);
  cpu.set_boards(1);  // slurmd, too, reports one by default
  cpu.set_sockets(sockets);
  cpu.set_cores_per_socket(std::max(1u, cores / sockets));
  cpu.set_threads_per_core(std::max(1u, threads / cores));
  cpu.set_numa_nodes(std::max(1u, Count(raw, HWLOC_OBJ_NUMANODE)));
  if (const hwloc_obj_t package = hwloc_get_obj_by_type(raw, HWLOC_OBJ_PACKAGE, 0)) {
    if (const char* model = hwloc_obj_get_info_by_name(package, "CPUModel")) cpu.set_model(model);
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
