// The short name of a GPU model for Slurm's gres type.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::agent {

// "NVIDIA GeForce RTX 2080 Ti" → "rtx_2080_ti", "NVIDIA H100 80GB HBM3" → "h100", "Tesla
// V100-SXM2-16GB" → "v100": lower case; makers, product lines, memory and form factors left out;
// blanks and dashes become underscores. If nothing of the name remains, "gpu".
std::string SlurmGpuType(absl::string_view name);

}  // namespace muster::agent
