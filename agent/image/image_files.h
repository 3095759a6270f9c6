// The files between the builder of an image and the agent in its root.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/sys/file_system.h"
#include "muster/v1/image.pb.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class ProcessRunner;
}

namespace muster::agent {

absl::StatusOr<v1::Plan> ReadPlan(const std::string& path, sys::FileSystem& files);
absl::Status WriteReport(const v1::ImageApplyReport& report, const std::string& path,
                         sys::FileSystem& files);

// The facts of the root that this process runs in, as a serialized Facts. Blocks for seconds at
// most. Both references must outlive the process's probes; see FactsGatherer.
absl::StatusOr<std::string> SerializedRootFacts(sys::ProcessRunner& processes, Clock& clock);

}  // namespace muster::agent
