// Results of checks on their way from an agent into the store, where they lie compressed: curves are
// mostly repetition.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// A result as it came from an agent, made fit to be judged: an outcome that is none becomes unknown,
// what is not a number is dropped, as if it were missing.
v1::CheckResult Sanitize(v1::CheckResult result);

// zlib's format over the serialized message.
std::string PackResult(const v1::CheckResult& result);
// DataLoss: it is damaged, or larger than any result that an agent could send.
absl::StatusOr<v1::CheckResult> UnpackResult(const std::string& blob);

}  // namespace muster::controller::validation
