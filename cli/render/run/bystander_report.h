// What a change of the cluster left alone: the jobs, and slurmd on the other nodes. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace muster::cli {

// The nodes that a change does not concern, at one moment.
struct Bystanders {
  struct Slurmd {
    uint32_t pid = 0;
    std::string invocation;  // SlurmFacts.slurmd_invocation
  };
  // By node. A node whose slurmd does not run, or is not known, is missing.
  std::map<std::string, Slurmd> slurmds;
  std::map<std::string, std::string> unknown;  // nodes that could not be asked, and why
  size_t unasked = 0;                          // nodes that were not asked, for there are many
  std::set<std::string> jobs;                  // ids of running jobs
  std::string jobs_unknown;                    // why they are not known; empty: they are
};

// "running jobs 12 and 14: still running\nslurmd of c[001-003]: not restarted\n".
std::string RenderBystanders(const Bystanders& before, const Bystanders& after);

}  // namespace muster::cli
