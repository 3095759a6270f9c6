// Writes patterns into nearly all memory of one GPU and reads them back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/burnin/gpu/kernels/launcher.h"
#include "common/base/clock.h"

namespace muster::burnin {

struct MemorySettings {
  double share = 0.9;                   // of free memory
  std::vector<std::string> procedures;  // as the catalogue names them
  int passes = 1;                       // over all procedures
  uint64_t seed = 1;
  absl::Duration fade;  // how long words must keep in the procedure "fade"
};

struct MemoryObserver {
  std::function<void(absl::string_view procedure, double fraction)> on_progress;
  std::function<bool()> stop;
  // Called with true when the patterns begin, and around the time in which they are left alone.
  std::function<void(bool loaded)> on_load;
};

struct MemoryOutcome {
  uint64_t free_bytes = 0, tested_bytes = 0;
  int passes = 0;                     // complete ones
  uint64_t mismatches = 0;            // number of words
  std::vector<std::string> evidence;  // bounded
  // Procedures in which the sums of the written and the read words differ, though no single word
  // seemed wrong.
  std::vector<std::string> checksum_errors;
  double bandwidth_gbytes_per_s = 0;  // reads and writes together
};

// Blocks. ResourceExhausted: hardly any memory is free.
absl::StatusOr<MemoryOutcome> TestMemory(KernelLauncher& kernels, Clock& clock,
                                         const MemorySettings& settings,
                                         const MemoryObserver& observer);

}  // namespace muster::burnin
