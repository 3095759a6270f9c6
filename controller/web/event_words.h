// Events of runs, rollouts and validations as the page reads them.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace muster::v1 {
class RolloutEvent;
class RunEvent;
class ValidationEvent;
}  // namespace muster::v1

namespace muster::controller {

// The event without what may be large: outputs, differences, lists of nodes, findings. The page
// asks for these where somebody wants to see them.
nlohmann::ordered_json EventJson(const v1::RunEvent& event);
nlohmann::ordered_json EventJson(const v1::RolloutEvent& event);
nlohmann::ordered_json EventJson(const v1::ValidationEvent& event);

// Whether a newer event of the same node says all that matters of this one.
bool IsReplaced(const v1::RunEvent& event);
bool IsReplaced(const v1::RolloutEvent& event);
bool IsReplaced(const v1::ValidationEvent& event);

}  // namespace muster::controller
