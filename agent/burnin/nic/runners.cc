#include "agent/burnin/runners.h"

#include "agent/burnin/nic/nic_checks.h"

namespace muster::burnin {

absl::Span<const CheckRunner> NicRunners() {
  static constexpr CheckRunner kRunners[] = {
      {"nic-link", RunNicLink},
      {"nic-pair", RunNicPair},
      {"rdma-pair", RunRdmaPair},
      {"collective", RunCollective},
  };
  return kRunners;
}

}  // namespace muster::burnin
