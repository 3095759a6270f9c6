// Whether GPUs of one model agree on what they computed.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// Adds a fault "digest_mismatch" for each GPU whose digest is not that of most GPUs of its model,
// and for all of them where no value has a majority: then one of them is wrong and nobody can tell
// which. Models are those of the subjects.
void CompareDigests(CheckResult& result);

}  // namespace muster::burnin
