// Inserts floors into files of inventory/hardware without touching what people wrote there. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/validation/suite/catalog_names.h"

namespace muster::controller::validation {

// A floor to write into a file.
struct FloorEntry {
  std::string check, metric, variant, unit;
  double floor = 0;
  double peak = 0;     // 0: none is to be written, or the file's stays
  std::string source;  // of the floor
  std::string peak_source;
};

// The entries of `limits:`, each line indented by `indent` blanks.
std::string FloorEntriesText(const std::vector<FloorEntry>& entries, size_t indent);

// A whole file for models that have none. `kind` is "gpu" or "nic".
std::string NewHardwareFile(absl::string_view kind, const std::set<std::string>& models,
                            const std::vector<FloorEntry>& entries);

// "inventory/hardware/rtx_2080_ti.yaml" for "NVIDIA GeForce RTX 2080 Ti".
std::string NewHardwarePath(absl::string_view model);

// `text` with the floors: an existing limit gets its floor and keeps its comments, its peak and
// what its source says about the peak; new limits come first. FailedPrecondition: the file is
// written so that this cannot be done line by line (limits in braces, for instance). The result has
// been parsed again and has the new floors and no other change.
absl::StatusOr<std::string> WithFloors(absl::string_view path, absl::string_view text,
                                       const std::vector<FloorEntry>& entries, Catalog catalog);

// A diff for `patch -p1` and `git apply`; `before` empty: the file is new. "": nothing differs.
std::string HardwareDiff(absl::string_view path, absl::string_view before, absl::string_view after);

}  // namespace muster::controller::validation
