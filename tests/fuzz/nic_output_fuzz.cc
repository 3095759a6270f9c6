// Output of perftest and lldpcli, cut and damaged in every way; lldpcli repeats its neighbors'
// texts.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "agent/burnin/nic/rdma/perftest.h"
#include "common/sys/lldp_neighbors.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(nic_output, data, size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto gbits = muster::burnin::ParseWriteBandwidth(text); gbits.ok())
    if (!std::isfinite(*gbits) || *gbits < 0) std::abort();
  if (const auto latency = muster::burnin::ParseWriteLatency(text); latency.ok())
    if (!std::isfinite(latency->p99_us) || latency->p99_us < 0) std::abort();
  if (const auto neighbors = muster::sys::ParseLldpNeighbors(text); neighbors.ok())
    for (const auto& [name, neighbor] : *neighbors)
      if (name.empty() || neighbor.system.size() > 256 || neighbor.port.size() > 256) std::abort();
  return 0;
}
