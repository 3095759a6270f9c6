// What `dcgmi diag --json` prints, read and judged. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::burnin {

enum class DcgmStatus { kPass, kFail, kWarn, kSkip };

// What a warning says, and its error's category as DCGM counts them (dcgm_errors.h: 3, 4, 6 to 8
// are software; 9 to 15 hardware). -1: an older DCGM, which does not tell.
struct DcgmWarning {
  std::string text;
  int category = -1;
};

// The result of one test, for one GPU or for all of them.
struct DcgmTest {
  static constexpr int kNoGpu = -1;  // of the node, or of what is no GPU

  std::string category;  // "Deployment", "Hardware", …
  std::string name;
  int gpu = kNoGpu;  // as DCGM counts, which is in NVML's order
  DcgmStatus status = DcgmStatus::kSkip;
  std::vector<DcgmWarning> warnings;
  std::vector<std::string> infos;
};

struct DcgmReport {
  std::string version;
  std::string error;  // why DCGM could not run; empty: it ran
  std::vector<DcgmTest> tests;
};

// Both shapes: of DCGM 2 and 3 ("gpu_ids"), and of DCGM 4 ("entity_id"). Text before the JSON, and
// what is not known, is left out; a status that is not known counts as skipped. InvalidArgument:
// there is no JSON of a diagnostic.
absl::StatusOr<DcgmReport> ParseDcgm(absl::string_view output);

// Whether a test that failed says that hardware is bad, and not that the node's software is not as
// DCGM wants it: persistence mode off, a library missing. REQUIRES: its status is kFail.
bool IsHardware(const DcgmTest& test);

// "targeted_power: GPU 0 drew 180 W, not 250 W".
std::string Describe(const DcgmTest& test);

}  // namespace muster::burnin
