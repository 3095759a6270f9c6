// The rollout that reboots workers and does nothing else.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/rollout.pb.h"

namespace muster {

// Where the playbook is in its bundle, which is the same bytes whoever packs it.
inline constexpr absl::string_view kNodeRebootPath = "playbooks/node-reboot.yaml";
absl::string_view NodeRebootPlaybook();

// A rollout of it over these workers (a host list), all at once if the caller sets no limits. The
// reason, "": the playbook's own, goes into the audit log; templates in it would be expanded.
v1::CreateRolloutRequest NodeRebootRequest(const std::string& nodes, const std::string& reason);

}  // namespace muster
