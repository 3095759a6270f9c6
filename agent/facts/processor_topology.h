// The machine's processors as hwloc, and therefore Slurm, counts them.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct hwloc_topology;

namespace muster::agent {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const;
};
using ProcessorTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;

// The whole machine, not the part that the agent's own cpuset leaves of it: slurmd counts so too.
absl::StatusOr<ProcessorTopology> LoadProcessorTopology();

// Cores that follow each other, both ends included, by their logical indices.
struct CoreRange {
  unsigned first = 0;
  unsigned last = 0;
};

// The cores that have one of the processors of `cpu_list` ("0-15,32-47", as in sysfs), ascending.
// Empty: the list is not one, it covers all cores or none, or the sockets differ in their number of
// cores, which Slurm does not count by hwloc's indices.
std::vector<CoreRange> CoresOf(hwloc_topology* topology, absl::string_view cpu_list);

}  // namespace muster::agent
