#include "agent/facts/probe.h"

namespace muster::agent {

const std::vector<Probe>& AllProbes() {
  static const std::vector<Probe> kProbes = {
      {"os", ProbeOs},
      {"cpu", ProbeCpu},
      {"memory", ProbeMemory},
      {"disks", ProbeDisks},
      {"nics", ProbeNics},
      {"pci_devices", ProbePci},
      {"gpus", ProbeGpus},
      {"slurm", ProbeSlurm},
      {"mounts", ProbeMounts},
      {"cgroup", ProbeCgroup},
      {"ssh_host_keys", ProbeSshHostKeys},
      {"machine", ProbeMachine},
      {"packages", ProbePackages},
  };
  return kProbes;
}

}  // namespace muster::agent
