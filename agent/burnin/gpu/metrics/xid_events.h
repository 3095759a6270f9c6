// Xids as NVIDIA's management library tells them, for machines whose kernel's log cannot be read.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/burnin/gpu/driver/nvml.h"

namespace muster {
class Clock;
}

namespace muster::burnin {

// Calls `on_begin` with the number of GPUs that tell of their Xids, once they are listened to, and
// then `take` for each Xid with a line in the form of the kernel's log: "NVRM: Xid
// (PCI:0000:3b:00): 79, told by NVML". Returns after `duration`, or with an error: Unimplemented:
// no GPU tells; DataLoss: a GPU is lost. NVML may block for longer on a sick GPU. While this
// listens, the driver is in use: GPUs cannot be reset, nor the driver be unloaded.
absl::Status HearXids(Clock& clock, absl::Duration duration,
                      const std::function<void(unsigned gpus)>& on_begin,
                      const std::function<void(absl::string_view line)>& take,
                      const std::string& library = kNvmlLibrary);

}  // namespace muster::burnin
