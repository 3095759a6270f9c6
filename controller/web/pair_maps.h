// What was measured between the nodes of a validation.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller {

class ValidationService;

// JSON: {"maps": [{"title", "unit", "names", "cells": [[row, column, value], …]}, …]}, at most
// twelve maps, in the order of their titles. "names" has a label for each row, and for the column
// of the same number: one node, or neighbors of a large cluster (checks::PairGrid).
absl::StatusOr<std::string> PairMaps(ValidationService& validations,
                                     absl::string_view validation_id);

}  // namespace muster::controller
