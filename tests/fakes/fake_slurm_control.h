// A slurmctld in memory.
#pragma once

#include <algorithm>
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
    for (const auto& [name, node] : nodes) {
      all.push_back(node);
      all.back().is_silent = is_silent && node.takes_jobs;
    }
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

  // The jobs start anew later, on another node; those in `not_requeued` stay.
  absl::StatusOr<controller::slurm::LeftAlone> Requeue(
      const std::vector<controller::slurm::JobOnNode>& asked) override {
    if (!status.ok()) return status;
    if (!requeue_status.ok()) return requeue_status;
    controller::slurm::LeftAlone left;
    for (const auto& [id, node] : asked) {
      calls.push_back(absl::StrCat("requeue ", id, " on ", node));
      if (const auto found = not_requeued.find(id); found != not_requeued.end()) {
        left[id] = found->second;
        continue;
      }
      std::vector<SlurmJob>& here = jobs[node];
      here.erase(std::remove_if(here.begin(), here.end(),
                                [&id = id](const SlurmJob& job) { return job.id == id; }),
                 here.end());
    }
    return left;
  }

  std::map<std::string, controller::slurm::SlurmNode> nodes;
  SlurmJobsByNode jobs;
  bool is_silent = false;                     // slurmctld reaches no slurmd
  controller::slurm::LeftAlone not_requeued;  // why Slurm does not put a job back into the queue
  std::vector<std::string> calls;             // all except listings of nodes
  absl::Status status;                        // every call returns it while it is an error
  absl::Status update_status;                 // changes of nodes return it while it is an error
  absl::Status requeue_status;                // Requeue() returns it while it is an error
  std::function<void()> after_listing;        // called between a look and the action that follows
};

}  // namespace muster::testing
