// What this machine is to do with its disk, from the controller itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {
class Clock;
struct JoinWord;
}  // namespace muster

namespace muster::agent {

struct DiskQuestion {
  std::vector<std::string> macs;  // of this machine
  std::string root_sha256;        // of the root that it has booted
};

// See v1::GetDiskOrderResponse.
struct DiskOrder {
  struct File {
    std::string path;  // on the boot server
    std::string sha256;
    uint64_t bytes = 0;
  };
  std::string image;
  std::string device;
  std::string node;
  File loader;
  File kernel;
};

// Authenticates the controller by the authority that `join` names, which was signed with the
// command line, and asks it. A controller that is away is asked again for some minutes; `say` gets
// a line each time. FailedPrecondition: the disk is to be left alone, with the reason.
// PermissionDenied: somebody else answers.
absl::StatusOr<DiskOrder> AskForDiskOrder(const JoinWord& join, const DiskQuestion& question,
                                          Clock& clock,
                                          const std::function<void(absl::string_view)>& say);

}  // namespace muster::agent
