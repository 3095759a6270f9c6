// Whether a GPU at work runs at the clocks that it has.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "agent/burnin/gpu/driver/nvml.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// What a clock can be, in MHz; nullopt: the GPU does not tell.
struct ClockLimit {
  std::optional<double> highest;
  std::optional<double> application;  // that `nvidia-smi -ac` set, or the default
};
struct ClockLimits {
  ClockLimit sm, memory;
};
ClockLimits ReadClockLimits(const NvmlDevice& device);

// Takes readings of a GPU that computes. One that runs slowly for want of power, for heat or for a
// display says so; clocks that somebody has locked (`nvidia-smi -lgc`) are told by nothing but the
// clock itself. Pure.
class ClockWatch {
 public:
  // Of the highest clock. A GPU that neither power nor heat holds back computes near it; half
  // leaves room for limits of voltage, which no reason names.
  static constexpr double kLowestShare = 0.5;
  // Two seconds of work.
  static constexpr size_t kFewestReadings = 8;

  struct Reading {
    std::optional<double> sm_mhz, memory_mhz;
    std::optional<unsigned long long> reasons;  // bits of nvml::ClockReason
  };

  explicit ClockWatch(const ClockLimits& limits) : sm_{limits.sm}, memory_{limits.memory} {}

  void Take(const Reading& reading);
  // "clock_low" for each clock that was below kLowestShare in more than half of the readings that
  // name no reason.
  void AddFaults(const std::string& uuid, CheckResult& result) const;

 private:
  struct Series {
    ClockLimit limit;
    size_t readings = 0;
    size_t low = 0;
    double low_sum_mhz = 0;
    double wanted_mhz = 0;  // of the last low one
  };
  static void Take(double mhz, bool application_clocks, Series& series);
  static void AddFault(const char* clock, const char* reset, const Series& series,
                       const std::string& uuid, CheckResult& result);

  Series sm_, memory_;
};

}  // namespace muster::burnin
