// Explanations as text. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class ExplainStepResponse;
class ExplainVariableResponse;
}  // namespace muster::v1

namespace muster::cli {

// The value, the definition that it comes from, and the definitions that this one hides.
std::string RenderVariable(absl::string_view name, absl::string_view node,
                           const v1::ExplainVariableResponse& response);

// Task, conditions, parameters and last result of each step.
std::string RenderExplainedStep(const v1::ExplainStepResponse& response, absl::Time now);

}  // namespace muster::cli
