// Compares the results of GPUs of one model.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// Adds a fault "digest_mismatch" for each GPU whose digest differs from that of most GPUs of its
// model, and for all GPUs of a model without a majority: then one of them is wrong and nobody can
// tell which. The models come from the subjects.
void CompareDigests(CheckResult& result);

}  // namespace muster::burnin
