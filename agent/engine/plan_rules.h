// Decides which plans an agent accepts. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class Plan;
}

namespace muster::agent {

// OK, or the reason for refusing the plan, in words for the controller's administrator: it is for
// another node, it has expired, its sequence is not above `highest_sequence`, or it makes no sense
// (a digest that does not match, roles that need each other, a duplicate id).
absl::Status CheckPlan(const v1::Plan& plan, absl::string_view node_uuid, uint64_t highest_sequence,
                       absl::Time now);

// OK unless the plan has expired.
absl::Status CheckNotExpired(const v1::Plan& plan, absl::Time now);

// SHA-256 of the plan's deterministic serialization without its digest.
std::string PlanDigest(const v1::Plan& plan);

}  // namespace muster::agent
