// The generations of GPUs by the names that the driver gives them: what files of inventory/hardware
// say about it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/stack/gpu_generation.h"

namespace muster::controller::stack {

// How much of `name` the pattern spells out, in characters; 0: it does not match. A `*` at the end
// stands for anything; ignores case.
size_t MatchLength(absl::string_view pattern, absl::string_view name);

class GpuModels {
 public:
  GpuModels() = default;

  // Reads `match` and `generation` of the files *.yaml (path → text) for GPUs; the rest of them is
  // the validations' business. InvalidArgument, with all errors: a file is not YAML, or names an
  // unknown generation.
  static absl::StatusOr<GpuModels> Read(const std::map<std::string, std::string>& files);

  // nullptr: no file that matches names a generation. If several match, the one that spells out
  // most of the name.
  const GpuGeneration* Find(absl::string_view model) const;

 private:
  std::vector<std::pair<std::string, const GpuGeneration*>> patterns_;
};

}  // namespace muster::controller::stack
