// A reboot of the node in the middle of a plan. When and whether is the engine's business; see
// agent/engine/reboot_run.h.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/resources/types.h"

namespace muster::agent {

// What on the node asks for a reboot: "/run/reboot-required (linux-image-amd64)", "kernel 6.1.0-20
// is installed and 6.1.0-18 runs". Empty: nothing does.
absl::StatusOr<std::string> WhyReboot(sys::FileSystem& files);

// Of a step whose resource is set to this type. Errors and parameters as in MakeResource(). Apply()
// starts the reboot and returns before anything has gone down.
absl::StatusOr<std::unique_ptr<Resource>> MakeReboot(const v1::Step& step, ResourceContext& context,
                                                     bool want_diff);

}  // namespace muster::agent
