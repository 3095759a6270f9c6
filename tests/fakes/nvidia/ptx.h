// The properties of a PTX text that the fake driver needs.
#pragma once

#include <string>
#include <vector>

namespace muster::fake_nvidia {

struct Ptx {
  std::vector<std::string> entries;  // names of kernels
  int target = 0;                    // 75 for ".target sm_75"
  bool exact_target = false;         // "sm_90a": for this GPU and no newer one
  int version = 0;                   // 65 for ".version 6.5"
};

// A text without a target is not PTX: `target` is 0.
Ptx ReadPtx(const std::string& text);

// The oldest CUDA version (11000 for 11.0) whose driver takes that version of PTX.
int CudaVersionForPtx(int ptx_version);

}  // namespace muster::fake_nvidia
