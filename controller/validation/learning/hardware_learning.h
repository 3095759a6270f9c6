// Proposes changes to the files of inventory/hardware after the fleet has been measured. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/validation/learning/floor_learner.h"
#include "controller/validation/suite/catalog_names.h"
#include "controller/validation/suite/hardware.h"
#include "muster/v1/hardware.pb.h"

namespace muster::controller::validation {

v1::HardwareModel ToProto(const HardwareModel& model);

// Proposals for each measured model, with changes to its file. `files` are those of `library`.
// `models` are names of files or models, with a '*' allowed at the end; empty: all. NotFound: one
// of them was not measured.
absl::StatusOr<std::vector<v1::LearnedModel>> ProposeHardware(
    const std::vector<LearnedMetric>& learned, const HardwareLibrary& library,
    const std::map<std::string, std::string>& files, const std::vector<std::string>& models,
    size_t min_subjects, Catalog catalog);

}  // namespace muster::controller::validation
