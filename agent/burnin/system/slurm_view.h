// What Slurm's programs print of a node, and what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// A node in Slurm's words; what was not printed is absent.
struct SlurmHardware {
  std::optional<int64_t> cpus;  // hardware threads, or cores where threads are not given out
  std::optional<int64_t> boards;
  std::optional<int64_t> sockets;  // of all boards
  std::optional<int64_t> cores_per_socket;
  std::optional<int64_t> threads_per_core;
  std::optional<int64_t> memory_mib;
};

// The NodeName line of `slurmd -C`: what the machine has.
struct SlurmdLine {
  std::string name;  // by which slurmd registers
  SlurmHardware hardware;
};

// A line of `scontrol --oneliner show node`: what Slurm has configured, and how it sees the node.
struct SlurmNodeLine {
  std::string name;
  std::string state;   // "IDLE+DRAIN"
  std::string reason;  // free text of administrators; "" : none
  SlurmHardware hardware;
  int64_t gpus = 0;             // that Gres counts
  bool has_gpu_slices = false;  // of MIG, which are more than the GPUs
};

// InvalidArgument: there is no such line.
absl::StatusOr<SlurmdLine> ParseSlurmdLine(absl::string_view text);
absl::StatusOr<SlurmNodeLine> ParseSlurmNodeLine(absl::string_view text);

// Where Slurm counts on another machine than this one, or on other GPUs than those `gpus` that the
// driver lists. Slurm may be told of less memory than there is, and of one CPU a core. Pure.
std::vector<Fault> CompareWithSlurm(const SlurmNodeLine& slurm, const SlurmHardware& found,
                                    int64_t gpus);

// The words of a state for which Slurm starts no job, whoever drained the node or not; empty: none.
// A drain is none of them.
std::vector<std::string> StatesOutOfService(absl::string_view state);

}  // namespace muster::burnin
