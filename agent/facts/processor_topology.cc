#include "agent/facts/processor_topology.h"

#include <hwloc.h>

#include <string>

namespace muster::agent {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};

// Whether all sockets have the same number of cores.
bool SocketsAreEqual(hwloc_topology_t topology) {
  const int sockets = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
  const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  for (int i = 0; i < sockets; ++i) {
    const hwloc_obj_t socket =
        hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, static_cast<unsigned>(i));
    if (hwloc_get_nbobjs_inside_cpuset_by_type(topology, socket->cpuset, HWLOC_OBJ_CORE) *
            sockets !=
        cores)
      return false;
  }
  return sockets > 0 && cores > 0;
}

}  // namespace

void DestroyTopology::operator()(hwloc_topology* topology) const {
  hwloc_topology_destroy(topology);
}

absl::StatusOr<ProcessorTopology> LoadProcessorTopology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return absl::InternalError("hwloc_topology_init failed");
  ProcessorTopology topology(raw);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(raw) != 0) return absl::InternalError("hwloc cannot read the topology");
  return topology;
}

std::vector<CoreRange> CoresOf(hwloc_topology* topology, absl::string_view cpu_list) {
  const std::unique_ptr<hwloc_bitmap_s, FreeBitmap> cpus(hwloc_bitmap_alloc());
  if (cpus == nullptr || hwloc_bitmap_list_sscanf(cpus.get(), std::string(cpu_list).c_str()) != 0 ||
      !SocketsAreEqual(topology))
    return {};
  const auto count = static_cast<unsigned>(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
  std::vector<CoreRange> ranges;
  for (unsigned i = 0; i < count; ++i) {
    const hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, i);
    if (hwloc_bitmap_intersects(core->cpuset, cpus.get()) == 0) continue;
    if (!ranges.empty() && ranges.back().last + 1 == i)
      ranges.back().last = i;
    else
      ranges.push_back({i, i});
  }
  const bool covers_all = ranges.size() == 1 && ranges[0].first == 0 && ranges[0].last + 1 == count;
  return covers_all ? std::vector<CoreRange>{} : ranges;
}

}  // namespace muster::agent
