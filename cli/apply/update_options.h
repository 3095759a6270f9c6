// The options of `muster update`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/apply/plan_keep.h"
#include "cli/apply/run_options.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {

struct UpdateOptions {
  RunOptions run;  // what, and where
  std::string suite, max_unavailable, on_failure, soak, drain_timeout, on_timeout, reboot;
  std::vector<std::string> waves, windows;
  std::optional<uint32_t> canary;
  uint32_t max_per_rack = 0, max_per_switch = 0, failure_budget = 0;
  bool login_and_storage = false;
  // Where a stack is looked for and chosen; empty: ., inventory, playbooks/site.yaml.
  std::string site, inventory, site_playbook;
  PlanFileOptions keep;  // with `plan`
  bool plan = false, yes = false, detach = false;
};

// Adds the playbook and every option but those of `keep`. `options` must outlive the command.
void AddUpdateOptions(CLI::App& command, UpdateOptions& options);

// The request for such an update, without the playbook and its bundle. InvalidArgument names the
// option that is wrong; what only the controller can judge is passed as it is.
absl::StatusOr<v1::CreateRolloutRequest> RequestFor(const UpdateOptions& options);

}  // namespace muster::cli
