// Errors that GPUs count and the kernel logs while a check loads them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "agent/burnin/check.h"
#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// How many new errors are tolerated: `in_all`, or `per_second` times the duration if that is more.
struct Tolerance {
  double in_all = 0;
  double per_second = 0;
};

// A counter of one GPU that never falls while the driver stays loaded.
struct ErrorCounter {
  const char* name;   // variant of new_errors
  const char* fault;  // for more than `tolerated` new errors
  Tolerance tolerated;
  const char* what;  // "rows of its memory were replaced"
  const char* remedy;
  // nullopt: the GPU does not report it.
  std::optional<double> (*read)(const NvmlDevice& device);
};
absl::Span<const ErrorCounter> ErrorCounters();

// The values of ErrorCounters(), in their order.
using ErrorCounts = std::vector<std::optional<double>>;

// Adds the metric new_errors for each counter that was read twice, with this time between, and the
// faults. A counter that could be read before but not after makes the result unknown. Pure.
void JudgeNewErrors(const Gpu& gpu, const ErrorCounts& before, const ErrorCounts& after,
                    absl::Duration between, CheckResult& result);

// Reads the counters of all chosen GPUs, and the end of the kernel's log, when it is made and again
// in Finish(), and judges the difference. Not thread-safe.
class ErrorWatch {
 public:
  // The context must outlive it.
  ErrorWatch(CheckContext& context, const Gpus& gpus);
  // Blocks for no longer than some seconds: a driver that hangs is a fault in `result`.
  void Finish(CheckResult& result);

 private:
  // By GPU; nullopt: the driver does not answer.
  std::optional<std::vector<ErrorCounts>> Read() const;
  void AddXids(CheckResult& result);

  CheckContext& context_;
  const Gpus gpus_;
  std::optional<std::vector<ErrorCounts>> before_;
  const absl::Time began_;         // when they were read
  std::optional<double> log_end_;  // seconds since the boot of the log's last line
};

}  // namespace muster::burnin
