// What scontrol and squeue print, cut and damaged in every way.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "agent/slurm/job_listing.h"
#include "agent/slurm/node_listing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<v1::SlurmNode> nodes = agent::ParseSlurmNodes(text);
  for (const v1::SlurmNode& node : nodes) {
    if (node.name().empty() || node.state().empty()) std::abort();
    if (node.is_drained() && node.takes_jobs()) std::abort();
    if (node.is_drained() && agent::HeldBecause(node).empty()) std::abort();
  }
  const v1::SlurmNodes part = agent::SlurmNodesAfter(nodes, "");
  v1::SlurmNodes copy;
  if (!copy.ParseFromString(part.SerializeAsString())) std::abort();
  const v1::SlurmJobs jobs = agent::ParseSlurmJobs(text, {"c001", "c002"});
  if (jobs.nodes_size() > 2 || !v1::SlurmJobs().ParseFromString(jobs.SerializeAsString())) {
    std::abort();
  }
  return 0;
}
