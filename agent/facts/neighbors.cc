// The systems at the other end of the node's cables, by lldpd.
#include <utility>

#include "agent/facts/probe.h"
#include "common/base/status.h"
#include "common/sys/lldp_neighbors.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {

absl::Status ProbeNeighbors(const ProbeContext& context, v1::Facts& facts) {
  absl::StatusOr<sys::LldpNeighbors> neighbors = sys::ReadLldpNeighbors(*context.processes);
  if (absl::IsNotFound(neighbors.status())) return absl::OkStatus();  // few nodes have lldpd
  RETURN_IF_ERROR(neighbors.status());
  for (auto& [interface, neighbor] : *neighbors) {
    v1::NeighborFacts& told = *facts.add_neighbors();
    told.set_interface(interface);
    told.set_system(std::move(neighbor.system));
    told.set_port(std::move(neighbor.port));
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
