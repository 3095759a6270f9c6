// A slurmctld in memory.
#pragma once

#include <functional>
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
                   .reason_user = user,
                   .is_held = true};
  }

  absl::StatusOr<std::vector<controller::slurm::SlurmNode>> Nodes() override {
    if (!status.ok()) return status;
    std::vector<controller::slurm::SlurmNode> all;
    for (const auto& [name, node] : nodes) all.push_back(node);
    if (after_listing) after_listing();
    return all;
  }
  absl::StatusOr<controller::slurm::LeftAlone> Drain(
      const std::vector<controller::slurm::NodeChange>& changes,
      const std::string& reason) override {
    if (!status.ok()) return status;
    if (!update_status.ok()) return update_status;
    controller::slurm::LeftAlone left;
    for (const auto& [name, expected] : changes) {
      const controller::slurm::SlurmNode& node = nodes[name];
      if (node.is_held && node.reason != expected) {
        left[name] = absl::StrCat("drained by ", node.reason_user, ": ", node.reason);
        continue;
      }
      calls.push_back(absl::StrCat("drain ", name, ": ", reason));
      DrainBy("root", name, reason);
    }
    return left;
  }
  absl::StatusOr<controller::slurm::LeftAlone> Undrain(
      const std::vector<controller::slurm::NodeChange>& changes) override {
    if (!status.ok()) return status;
    if (!update_status.ok()) return update_status;
    controller::slurm::LeftAlone left;
    for (const auto& [name, expected] : changes) {
      const controller::slurm::SlurmNode& node = nodes[name];
      if (!node.is_drained) continue;
      if (node.reason != expected) {
        left[name] = absl::StrCat("drained by ", node.reason_user, ": ", node.reason);
        continue;
      }
      calls.push_back(absl::StrCat("undrain ", name));
      Add(name);
    }
    return left;
  }
  absl::StatusOr<SlurmJobsByNode> JobsOn(const std::vector<std::string>& names) override {
    if (!status.ok()) return status;
    calls.push_back("jobs");
    SlurmJobsByNode found;
    for (const std::string& name : names) {
      if (jobs.count(name) > 0) found[name] = jobs[name];
    }
    return found;
  }

  std::map<std::string, controller::slurm::SlurmNode> nodes;
  SlurmJobsByNode jobs;
  std::vector<std::string> calls;       // all except listings of nodes
  absl::Status status;                  // every call returns it while it is an error
  absl::Status update_status;           // changes return it while it is an error
  std::function<void()> after_listing;  // called between a look and the action that follows
};

}  // namespace muster::testing
