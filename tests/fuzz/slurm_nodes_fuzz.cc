// What scontrol prints, cut and damaged in every way.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "controller/slurm/node_listing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using muster::controller::slurm::SlurmNode;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (const SlurmNode& node : muster::controller::slurm::ParseNodes(text)) {
    if (node.name.empty() || node.state.empty()) std::abort();
    if (node.is_drained && node.takes_jobs) std::abort();
    (void)muster::controller::slurm::OwnerOf(node.reason);
  }
  return 0;
}
