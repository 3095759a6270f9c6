// NVLinks of a GPU and its place in a fabric of NVSwitches: how they are read and what is wrong
// with them, for gpu-inventory, for checks under load and for monitoring.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "agent/burnin/gpu/driver/nvml.h"

namespace muster::burnin {

// Whether each link is up. Unimplemented: the GPU has no links.
absl::StatusOr<std::vector<bool>> ReadLinks(const NvmlDevice& device);
size_t LinksUp(const std::vector<bool>& links);

// Links that are down although they should be up. The links of GPUs on a baseboard must all be up,
// if any is: a machine without a baseboard for NVLink has all links down. Others lead to bridges,
// of which a site fits none, some or all. Pure.
size_t MissingLinks(absl::string_view model, const std::vector<bool>& links);

struct LinkCounter {
  const char* name;  // "replay", "recovery", "crc_flit", "crc_data"
  nvml::LinkErrorCounter counter;
};
absl::Span<const LinkCounter> LinkCounters();
// Over those of the first `links` links that report it. Unimplemented: none does.
absl::StatusOr<unsigned long long> SumOfLinks(const NvmlDevice& device, size_t links,
                                              nvml::LinkErrorCounter counter);

// What may be wrong with a GPU's place in the fabric.
enum class FabricTrouble {
  kNotReady,   // it is not part of it yet
  kError,      // it could not join it
  kUnhealthy,  // it is not well connected
};
struct FabricFault {
  FabricTrouble trouble;
  std::string message;  // continues "GPU 0 "
};
// Pure.
std::vector<FabricFault> JudgeFabric(const nvml::FabricInfo& fabric);

}  // namespace muster::burnin
