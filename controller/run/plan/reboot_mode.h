// When the nodes of a run reboot (v1::RebootMode), in their plans. Pure.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::v1 {
class Plan;
}

namespace muster::controller {

// REBOOT_MODE_NEVER: steps that would reboot the node only find out whether it has to. An agent
// that does not know such steps refuses the plan, and reboots nothing.
void PutRebootsOff(v1::Plan& plan);

// REBOOT_MODE_ALWAYS, in a node's last plan of the run: a reboot after everything else, unless the
// node has left `boot_id` by then. FailedPrecondition: `boot_id` is empty.
absl::Status AddLastReboot(const std::string& boot_id, v1::Plan& plan);

}  // namespace muster::controller
