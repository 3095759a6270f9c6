// The gate of a cluster whose administrator lets nodes into Slurm's service by hand.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "controller/gate/job_gate.h"
#include "controller/slurm/slurm_control.h"

namespace muster::controller::validation {

// Leaves Slurm's nodes as they are, and still does not test where jobs are running.
class OpenGate final : public JobGate {
 public:
  // `slurm` must outlive the object. `can_ask`: whether Slurm's node is connected: nobody has to
  // have Slurm, so one that is away has no say.
  OpenGate(slurm::SlurmControl& slurm, std::function<bool()> can_ask)
      : slurm_(slurm), can_ask_(std::move(can_ask)) {}

  absl::Status Hold(const std::string& validation_id, const std::vector<std::string>& nodes,
                    bool force) override;
  void Release(const std::string&) override {}
  std::vector<std::string> WhomToBorrow(const std::vector<std::string>& nodes) override;
  void OnJudged(const std::string&, const std::string&, v1::Outcome) override {}
  void Wake() override {}
  absl::Status Reconcile() override;
  bool is_shut() const override { return false; }
  std::string ServiceOf(const std::string&) const override { return ""; }
  bool IsBehind(const std::string&) const override { return false; }
  absl::Status trouble() const override { return absl::OkStatus(); }

 private:
  slurm::SlurmControl& slurm_;
  const std::function<bool()> can_ask_;
};

}  // namespace muster::controller::validation
