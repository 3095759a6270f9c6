#include "tests/fakes/nvidia/preset.h"

#include <cstring>

namespace muster::fake_nvidia {
namespace {

constexpr Preset kPresets[] = {
    {"gtx_1080_ti", "NVIDIA GeForce GTX 1080 Ti", 6, 1, 28, 11264, 1911, 5505, 352, 250, 3, 0,
     false, false, "86.02.39.00.22"},
    {"p100", "Tesla P100-SXM2-16GB", 6, 0, 56, 16384, 1480, 715, 4096, 300, 3, 4, true, false,
     "86.00.4D.00.01"},
    {"v100", "Tesla V100-SXM2-32GB", 7, 0, 80, 32768, 1530, 877, 4096, 300, 3, 6, true, false,
     "88.00.80.00.01"},
    {"rtx_2080_ti", "NVIDIA GeForce RTX 2080 Ti", 7, 5, 68, 11264, 2100, 7000, 352, 250, 3, 2,
     false, false, "90.02.17.00.7E"},
    {"titan_rtx", "NVIDIA TITAN RTX", 7, 5, 72, 24576, 2100, 7001, 384, 280, 3, 2, false, false,
     "90.02.2E.00.0C"},
    {"t4", "Tesla T4", 7, 5, 40, 15360, 1590, 5001, 256, 70, 3, 0, true, false, "90.04.38.00.03"},
    {"a100", "NVIDIA A100-SXM4-80GB", 8, 0, 108, 81920, 1410, 1593, 5120, 400, 4, 12, true, true,
     "92.00.45.00.03"},
    {"l40s", "NVIDIA L40S", 8, 9, 142, 46068, 2520, 9001, 384, 350, 4, 0, true, true,
     "95.02.66.00.02"},
    {"h100", "NVIDIA H100 80GB HBM3", 9, 0, 132, 81559, 1980, 2619, 5120, 700, 5, 18, true, true,
     "96.00.5E.00.01"},
    {"h200", "NVIDIA H200", 9, 0, 132, 143771, 1980, 3201, 6144, 700, 5, 18, true, true,
     "96.00.A0.00.01"},
};

}  // namespace

const Preset* FindPreset(const char* key) {
  for (const Preset& preset : kPresets)
    if (std::strcmp(preset.key, key) == 0) return &preset;
  return nullptr;
}

}  // namespace muster::fake_nvidia
