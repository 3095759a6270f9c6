// Output of scontrol and squeue, cut and damaged in every way.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "agent/slurm/job_listing.h"
#include "agent/slurm/node_listing.h"
#include "common/base/text/plain_text.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(slurm_nodes, data, size) {
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
  for (const auto& [id, traits] : agent::ParseJobTraits(text)) {
    if (id.empty()) std::abort();
  }
  v1::SlurmJobs jobs = agent::ParseSlurmJobs(text, {"c001", "c002"});
  const int nodes_with_jobs = jobs.nodes_size();
  agent::AddJobNames(text, jobs);
  if (nodes_with_jobs > 2 || jobs.nodes_size() != nodes_with_jobs ||
      !v1::SlurmJobs().ParseFromString(jobs.SerializeAsString()))
    std::abort();
  for (const v1::SlurmNodeJobs& node : jobs.nodes()) {
    for (const v1::SlurmJobInfo& job : node.jobs()) {
      if (job.id().empty() || !IsPlain(job.user(), Lines::kOne)) std::abort();
      if (!IsPlain(job.name(), Lines::kOne) || job.name().size() > 128) std::abort();
    }
  }
  return 0;
}
