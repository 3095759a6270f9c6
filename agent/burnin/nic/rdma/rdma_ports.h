// Which RDMA ports of two nodes are measured with each other. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/nic/rdma/rdma_device.h"

namespace muster::burnin {

// The places in `ports` of those that are to be measured, kMostPorts at most: the active ones of
// `device`; where it is "", all that are active of InfiniBand, or of Ethernet on a node without
// InfiniBand. NotFound: no such device. FailedPrecondition: none is active.
inline constexpr size_t kMostPorts = 16;
absl::StatusOr<std::vector<size_t>> ActivePorts(const std::vector<RdmaPort>& ports,
                                                absl::string_view device);

// "mlx5_0", of a further port "mlx5_0/2": the id of its subject.
std::string PortName(const RdmaPort& port);

// One measurement: the places of the ports of rank 0 and of rank 1.
struct PortMatch {
  size_t first = 0;
  size_t second = 0;

  bool operator==(const PortMatch&) const = default;
};
// So that each active port of either node is measured: with the one at the same place, to which the
// rails of a cluster are cabled; where the other node has none active there, with any. The same on
// both nodes. Empty where one of them has none.
std::vector<PortMatch> MatchPorts(const std::vector<size_t>& first,
                                  const std::vector<size_t>& second);

}  // namespace muster::burnin
