// A gate to Slurm that does as it is told.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/gate/job_gate.h"

namespace muster::testing {

// Notes who calls for what, in `calls`. Not thread-safe.
class FakeJobGate final : public controller::validation::JobGate {
 public:
  absl::Status Hold(const std::string& validation_id, const std::vector<std::string>& nodes,
                    bool force) override {
    calls.push_back(absl::StrCat("hold ", absl::StrJoin(nodes, ","), force ? " by force" : ""));
    return on_hold ? on_hold(validation_id, nodes) : absl::OkStatus();
  }
  void Release(const std::string& validation_id) override {
    if (on_release) on_release(validation_id);
  }
  std::vector<std::string> WhomToBorrow(const std::vector<std::string>& nodes) override {
    calls.push_back(absl::StrCat("ask ", absl::StrJoin(nodes, ",")));
    return to_borrow ? to_borrow(nodes) : nodes;
  }
  void OnJudged(const std::string& node_uuid, const std::string&, v1::Outcome outcome) override {
    judged[node_uuid] = outcome;
  }
  void Wake() override { calls.push_back("wake"); }
  absl::Status Reconcile() override {
    calls.push_back("reconcile");
    return absl::OkStatus();
  }
  bool is_shut() const override { return true; }
  std::string ServiceOf(const std::string& node) const override {
    return absl::StrCat(node, " in service");
  }
  bool IsBehind(const std::string& validation_id) const override { return validation_id == behind; }
  absl::Status trouble() const override { return absl::OkStatus(); }

  std::function<absl::Status(const std::string& validation_id,
                             const std::vector<std::string>& nodes)>
      on_hold;
  std::function<void(const std::string& validation_id)> on_release;
  std::function<std::vector<std::string>(const std::vector<std::string>& nodes)> to_borrow;
  std::vector<std::string> calls;
  std::map<std::string, v1::Outcome> judged;  // by uuid
  std::string behind;
};

}  // namespace muster::testing
