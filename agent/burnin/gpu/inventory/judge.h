// Judges the readings of gpu-inventory. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/gpu/inventory/reading.h"
#include "agent/burnin/result.h"
#include "common/checks/catalog.h"

namespace muster::burnin {

// The parameters of gpu-inventory; "" and nullopt: anything is right.
struct Expectations {
  std::optional<double> count, memory_bytes, pcie_generation, pcie_width, nvlinks, power_limit;
  std::string model, driver;
  std::string ecc, persistence;  // "on", "off"
  std::vector<std::string> vbios;
};
Expectations ExpectationsOf(const checks::Parameters& parameters);

// Adds metrics, faults and values that could not be read. `result` has the GPU's subject, whose
// attributes get the values that are not numbers; "not_told" there names the values that such a GPU
// does not report.
void JudgeGpu(const Gpu& gpu, const GpuReading& reading, const Expectations& wanted,
              CheckResult& result);

// `driver_version` is NVML's, `proc_version` the text of /proc/driver/nvidia/version.
void JudgeDriver(const std::string& driver_version, const std::string& proc_version,
                 const Expectations& wanted, CheckResult& result);

}  // namespace muster::burnin
