#include "agent/facts/slurm_gpu_type.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

TEST(SlurmGpuType, NamesTheModelAndNothingElse) {
  const struct {
    const char* nvml;
    const char* slurm;
  } cases[] = {
      {"NVIDIA GeForce RTX 2080 Ti", "rtx_2080_ti"},
      {"GeForce GTX 1080 Ti", "gtx_1080_ti"},
      {"NVIDIA H100 80GB HBM3", "h100"},
      {"NVIDIA H100 PCIe", "h100"},
      {"NVIDIA A100-SXM4-40GB", "a100"},
      {"Tesla P100-SXM2-16GB", "p100"},
      {"Tesla V100-SXM2-16GB", "v100"},
      {"NVIDIA H200", "h200"},
      {"NVIDIA L40S", "l40s"},
      {"NVIDIA", "gpu"},
      {"", "gpu"},
  };
  for (const auto& c : cases) EXPECT_EQ(SlurmGpuType(c.nvml), c.slurm) << c.nvml;
}

}  // namespace
}  // namespace muster::agent
