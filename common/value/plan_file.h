// Plan files as text: JSON on disk, a checked message inside (see muster/v1/plan_file.proto).
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class PlanFile;
}

namespace muster {

inline constexpr uint32_t kPlanFileFormat = 1;
// How long a plan may be applied: the default and the maximum.
inline constexpr absl::Duration kPlanFileLifetime = absl::Hours(24);
inline constexpr absl::Duration kMaxPlanFileLifetime = absl::Hours(24 * 30);
// The name of the file in the bundle that carries it to the controller.
inline constexpr char kPlanFileName[] = "plan.json";
// The size limit of a plan file in such a bundle.
inline constexpr size_t kMaxPlanFileBytes = size_t{60} << 20;

// Whether the text is meant to be a plan file: a playbook is not a JSON object.
bool LooksLikePlanFile(absl::string_view text);

// The file with its digest set. ResourceExhausted: above kMaxPlanFileBytes.
absl::StatusOr<std::string> WritePlanFile(v1::PlanFile file);

// InvalidArgument with the remedy: not a plan file, of another format, or changed since it was
// written. Its content is not compared with the world.
absl::StatusOr<v1::PlanFile> ReadPlanFile(absl::string_view text);

}  // namespace muster
