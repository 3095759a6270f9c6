// The only path from an agent's bytes to the messages that the rest of the controller reads.
#pragma once

#include <cstddef>

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {

inline constexpr size_t kMaxAgentMessageBytes = 2 * 1024 * 1024;
// Size in memory, after parsing. The largest message of an honest agent, a result with all its
// curves, takes a few MiB.
inline constexpr size_t kMaxExpandedBytes = 16 * 1024 * 1024;

// Measures, parses, cleans and checks the bytes: afterwards texts in `message` contain no control
// characters and are no longer than their fields allow, ids are well formed, and lists are no
// longer than an agent makes them. Only facts stay as they arrived, for CheckFacts(): a report that
// breaks a rule must not cost the node its session. ResourceExhausted, InvalidArgument: no agent
// sends this, and the stream is to be cut off.
absl::Status ReadAgentMessage(grpc::ByteBuffer& bytes, v1::AgentMessage& message);

// FailedPrecondition: a field of the facts breaks its rule; the error names it.
absl::Status CheckFacts(const v1::Facts& facts);

}  // namespace muster::controller
