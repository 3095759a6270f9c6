// Calls about validations that several verbs make.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::v1 {
class NodeCheckResult;
class Validation;
}  // namespace muster::v1

namespace muster::cli {

class Connection;

absl::StatusOr<v1::Validation> GetValidation(Connection& connection, const std::string& id);
// Hands each result of one node, or of all nodes for "", to `take` as it arrives. Results that are
// damaged in the store are left out and named on standard error.
absl::Status ForEachCheckResult(Connection& connection, const std::string& id,
                                const std::string& node, bool with_samples,
                                const std::function<void(v1::NodeCheckResult&)>& take);
// All results at once.
absl::StatusOr<std::vector<v1::NodeCheckResult>> GetCheckResults(Connection& connection,
                                                                 const std::string& id,
                                                                 const std::string& node,
                                                                 bool with_samples);

}  // namespace muster::cli
