#include "agent/facts/probe.h"

#include <iterator>

#include "absl/algorithm/container.h"

namespace muster::agent {

const std::vector<Probe>& AllProbes() {
  static const std::vector<Probe> kProbes = {
      {"os", ProbeOs, /*in_root=*/true},
      {"cpu", ProbeCpu, /*in_root=*/false},
      {"memory", ProbeMemory, /*in_root=*/false},
      {"disks", ProbeDisks, /*in_root=*/false},
      {"nics", ProbeNics, /*in_root=*/false},
      {"pci_devices", ProbePci, /*in_root=*/false},
      {"gpus", ProbeGpus, /*in_root=*/false},
      {"slurm", ProbeSlurm, /*in_root=*/true},
      {"mounts", ProbeMounts, /*in_root=*/false},
      {"cgroup", ProbeCgroup, /*in_root=*/false},
      {"ssh_host_keys", ProbeSshHostKeys, /*in_root=*/false},
      {"machine", ProbeMachine, /*in_root=*/false},
      {"packages", ProbePackages, /*in_root=*/true},
      {"neighbors", ProbeNeighbors, /*in_root=*/false},
  };
  return kProbes;
}

std::vector<Probe> RootProbes() {
  std::vector<Probe> probes;
  absl::c_copy_if(AllProbes(), std::back_inserter(probes),
                  [](const Probe& probe) { return probe.in_root; });
  return probes;
}

}  // namespace muster::agent
