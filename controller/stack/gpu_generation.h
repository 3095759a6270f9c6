// Which driver a GPU needs: the generations of NVIDIA's GPUs.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::controller::stack {

// The kernel modules that drive a generation.
enum class GpuModules { kProprietary, kEither, kOpen };

struct GpuGeneration {
  absl::string_view word;  // in files: "grace_hopper"
  absl::string_view name;  // for people: "Grace Hopper"
  int first_branch;        // of the driver
  int last_branch;         // 0: all later ones
  GpuModules modules;
  int last_cuda;  // the last major version of CUDA's libraries; 0: all later ones
};

const std::vector<GpuGeneration>& GpuGenerations();  // from old to new

// nullptr: unknown.
const GpuGeneration* FindGeneration(absl::string_view word);

// The generation of a GPU of vendor 10de by its PCI device id, four hexadecimal digits; nullptr:
// unknown.
const GpuGeneration* GenerationOfDevice(absl::string_view device_id);

// "", or what is wrong with the word, with the nearest known one, worded to follow a place.
std::string CheckGeneration(absl::string_view word);

// The first driver branch with open kernel modules for data center GPUs.
inline constexpr int kFirstOpenBranch = 515;

}  // namespace muster::controller::stack
