// What gpu-inventory makes of its readings. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/gpu/inventory/reading.h"
#include "agent/burnin/result.h"
#include "common/checks/catalog.h"

namespace muster::burnin {

// The parameters of gpu-inventory; "" and nullopt: whatever there is.
struct Expectations {
  std::optional<double> count, memory_bytes, pcie_generation, pcie_width, nvlinks, power_limit;
  std::string model, driver;
  std::string ecc, persistence;  // "on", "off"
  std::vector<std::string> vbios;
};
Expectations ExpectationsOf(const checks::Parameters& parameters);

// Adds metrics, faults and what could not be read. `result` has the GPU's subject, whose attributes
// get what is no number; "not_told" there names what such a GPU does not tell.
void JudgeGpu(const Gpu& gpu, const GpuReading& reading, const Expectations& wanted,
              CheckResult& result);

// `driver_version` is NVML's, `proc_version` the text of /proc/driver/nvidia/version.
void JudgeDriver(const std::string& driver_version, const std::string& proc_version,
                 const Expectations& wanted, CheckResult& result);

}  // namespace muster::burnin
