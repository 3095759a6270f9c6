// A slurmctld in memory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/slurm/slurm_control.h"

namespace muster::testing {

class FakeSlurmControl final : public controller::slurm::SlurmControl {
 public:
  // An idle node.
  void Add(const std::string& name) {
    nodes[name] = {.name = name, .state = "IDLE", .takes_jobs = true};
  }
  void DrainBy(const std::string& user, const std::string& name, const std::string& reason) {
    nodes[name] = {.name = name,
                   .state = "IDLE+DRAIN",
                   .is_drained = true,
                   .reason = reason,
                   .reason_user = user};
  }

  absl::StatusOr<std::vector<controller::slurm::SlurmNode>> Nodes() override {
    if (!status.ok()) return status;
    std::vector<controller::slurm::SlurmNode> all;
    for (const auto& [name, node] : nodes) all.push_back(node);
    return all;
  }
  absl::Status Drain(const std::string& node, const std::string& reason) override {
    if (!status.ok()) return status;
    calls.push_back(absl::StrCat("drain ", node, ": ", reason));
    DrainBy("slurm", node, reason);
    return absl::OkStatus();
  }
  absl::Status Resume(const std::string& node) override {
    if (!status.ok()) return status;
    calls.push_back(absl::StrCat("resume ", node));
    Add(node);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<std::string>> JobsOn(const std::string& node) override {
    if (!status.ok()) return status;
    return jobs[node];
  }

  std::map<std::string, controller::slurm::SlurmNode> nodes;
  std::map<std::string, std::vector<std::string>> jobs;
  std::vector<std::string> calls;
  absl::Status status;  // what every call answers while it is an error
};

}  // namespace muster::testing
