// What several verbs ask of validations.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::v1 {
class NodeCheckResult;
class Validation;
}  // namespace muster::v1

namespace muster::cli {

class Connection;

absl::StatusOr<v1::Validation> GetValidation(Connection& connection, const std::string& id);
// Of one node; "": of all.
absl::StatusOr<std::vector<v1::NodeCheckResult>> GetCheckResults(Connection& connection,
                                                                 const std::string& id,
                                                                 const std::string& node,
                                                                 bool with_samples);

}  // namespace muster::cli
