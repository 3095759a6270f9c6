// The last steps of making a plan.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "controller/playbook/compiler.h"

namespace google::protobuf {
class MessageLite;
}

namespace muster::v1 {
class Plan;
}

namespace muster::controller {

// A larger plan travels with its largest file contents as blobs; gRPC's own limit is 4 MiB.
inline constexpr size_t kMaxPlanBytes = size_t{3} << 20;
// How long an agent may wait before it starts a plan.
inline constexpr absl::Duration kPlanLifetime = absl::Hours(24);

struct PlanIdentity {
  std::string run_id;
  uint32_t play_index = 0;
  std::string node_uuid;
  std::string node_name;
  uint64_t sequence = 0;
  absl::Time expires_at;
};

// "<run id>/<play index>".
std::string PlanId(const std::string& run_id, uint32_t play_index);
// Parses PlanId()'s result; false when `plan_id` is not a plan id.
bool ParsePlanId(const std::string& plan_id, std::string& run_id, uint32_t& play_index);

// Removes the steps that do not apply on the node: nobody has work with them, and on a real node
// they are half of the plan. Handlers stay, because an earlier plan may have made them dirty.
void LeaveOutSkipped(v1::Plan& plan);

// Sets the plan's identity and digest. Moves contents from the plan into `blobs` (sha256 →
// content), the largest first, until it fits. ResourceExhausted: it does not fit even then.
absl::Status FinishPlan(const PlanIdentity& identity, v1::Plan& plan, PlanBlobs& blobs);

// Gives the same bytes for equal messages.
std::string SerializeDeterministically(const google::protobuf::MessageLite& message);

// SHA-256 (hex) over the deterministic serialization with `digest` empty.
std::string PlanDigest(const v1::Plan& plan);

}  // namespace muster::controller
