// A probe of the node's facts, and the list of all probes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class ProcessRunner;
}
namespace muster::v1 {
class Facts;
}

namespace muster::agent {

// Where the probes look. Copied into each probe, since a hanging one outlives its caller.
struct ProbeContext {
  // Put before every path: "" on a node, a folder with a copied tree in tests.
  std::string root;
  // Runs programs (slurmd, systemd-detect-virt). Must outlive every probe.
  sys::ProcessRunner* processes = nullptr;
  // The name of NVML for dlopen().
  std::string nvml_library = "libnvidia-ml.so.1";
  // False: `root` is of a system that is not running; what the kernel and its services say is the
  // build host's, and is left out.
  bool is_running = true;
  // True: the packages are named, too.
  bool with_packages = false;
};

// One aspect of the node. Fills its own part of `facts` or says why it cannot.
struct Probe {
  const char* name;
  absl::Status (*run)(const ProbeContext& context, v1::Facts& facts);
  // Whether it finds something in a root whose system is not running.
  bool in_root;
};

// Every probe, in the order of the fields of v1::Facts.
const std::vector<Probe>& AllProbes();
// Those of them for a root whose system is not running.
std::vector<Probe> RootProbes();

// Keeps hwloc from loading its plugins into this process: display and OpenCL libraries with their
// drivers, tens of megabytes that stay. Counting processors needs none of them. Call before any
// thread is started.
void KeepHwlocSmall();

absl::Status ProbeOs(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbeCpu(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbeMemory(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbeDisks(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbeNics(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbePci(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbeGpus(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbeSlurm(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbeMounts(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbeCgroup(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbeSshHostKeys(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbeMachine(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbePackages(const ProbeContext& context, v1::Facts& facts);
absl::Status ProbeNeighbors(const ProbeContext& context, v1::Facts& facts);

}  // namespace muster::agent
