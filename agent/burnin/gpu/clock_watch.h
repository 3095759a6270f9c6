// Checks that a GPU at work runs at its clocks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "agent/burnin/gpu/driver/nvml.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// The highest value of a clock, in MHz; nullopt: the GPU does not report it.
struct ClockLimit {
  std::optional<double> highest;
  std::optional<double> application;  // set by `nvidia-smi -ac`, or the default
};
struct ClockLimits {
  ClockLimit sm, memory;
};
ClockLimits ReadClockLimits(const NvmlDevice& device);

// Takes readings of a computing GPU. A GPU that is slowed down by lack of power, by heat or for a
// display reports that reason; clocks that somebody has locked (`nvidia-smi -lgc`) show only in the
// clock itself. Pure.
class ClockWatch {
 public:
  // Share of the highest clock. A GPU that neither power nor heat holds back computes near it; half
  // leaves room for voltage limits, which no reason names.
  static constexpr double kLowestShare = 0.5;
  // Two seconds of work.
  static constexpr size_t kFewestReadings = 8;

  struct Reading {
    std::optional<double> sm_mhz, memory_mhz;
    std::optional<unsigned long long> reasons;  // bits of nvml::ClockReason
  };

  explicit ClockWatch(const ClockLimits& limits) : sm_{limits.sm}, memory_{limits.memory} {}

  void Take(const Reading& reading);
  // Adds "clock_low" for each clock that was below kLowestShare in more than half of the readings
  // without a reason.
  void AddFaults(const std::string& uuid, CheckResult& result) const;

 private:
  struct Series {
    ClockLimit limit;
    size_t readings = 0;
    size_t low = 0;
    double low_sum_mhz = 0;
    double wanted_mhz = 0;  // for the last low one
  };
  static void Take(double mhz, bool application_clocks, Series& series);
  static void AddFault(const char* clock, const char* reset, const Series& series,
                       const std::string& uuid, CheckResult& result);

  Series sm_, memory_;
};

}  // namespace muster::burnin
