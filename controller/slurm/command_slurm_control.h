// Slurm by its own programs.
#pragma once

#include <string>
#include <vector>

#include "controller/slurm/slurm_control.h"

namespace muster::sys {
class ProcessRunner;
}

namespace muster::controller::slurm {

// Calls scontrol and squeue, which find slurmctld by slurm.conf. Thread-safe.
class CommandSlurmControl final : public SlurmControl {
 public:
  // `prefix` goes before each command, for a slurmctld that is only reached from elsewhere: {"ssh",
  // "login1"}. Mostly empty. `processes` must outlive the object.
  CommandSlurmControl(std::vector<std::string> prefix, sys::ProcessRunner& processes)
      : prefix_(std::move(prefix)), processes_(processes) {}

  absl::StatusOr<std::vector<SlurmNode>> Nodes() override;
  absl::Status Drain(const std::string& node, const std::string& reason) override;
  absl::Status Resume(const std::string& node) override;
  absl::StatusOr<std::vector<std::string>> JobsOn(const std::string& node) override;

 private:
  absl::StatusOr<std::string> Run(std::vector<std::string> argv, size_t max_output);

  const std::vector<std::string> prefix_;
  sys::ProcessRunner& processes_;
};

}  // namespace muster::controller::slurm
