// The parts that imports of container images share, whatever the runtime.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/resources/types.h"
#include "common/sys/free_space.h"

namespace muster::v1 {
class ContainerImageResource;
}

namespace muster::agent {

// An import as a command, and the disk that it may fill.
struct ImageImport {
  std::string step_id;
  std::string what;  // "pulling registry.example/tool@sha256:…", for people
  std::vector<std::string> argv;
  // Where the image will be. Temporary files are kept beside it, because another file system may be
  // smaller.
  std::string folder;
  // Variables of the program that name a folder for temporary files.
  std::vector<std::string> scratch_variables;
  uint64_t expected_bytes = 0;  // room that must be there beforehand, beside what stays free
  // The room in `folder`; asked by a thread of its own.
  absl::StatusOr<uint64_t> (*free_bytes)(const std::string& path) = &sys::FreeBytes;
};

// Runs the program, and stops it before less is free than the image may leave. ResourceExhausted:
// there is not or was not enough room. The text is all that the program said.
absl::StatusOr<std::string> RunImport(const v1::ContainerImageResource& spec,
                                      const ImageImport& import, ResourceContext& context,
                                      ApplyObserver& observer);

// OK unless `bytes` is more than the image may have.
absl::Status CheckImageSize(const v1::ContainerImageResource& spec, uint64_t bytes);

// "12.3 GiB".
std::string InGib(uint64_t bytes);

}  // namespace muster::agent
