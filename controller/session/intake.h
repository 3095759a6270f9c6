// The one way from an agent's bytes to what the rest of the controller reads.
#pragma once

#include <cstddef>

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {

inline constexpr size_t kMaxAgentMessageBytes = 2 * 1024 * 1024;
// In memory, parsed. The largest that an honest agent says, a result with all its curves, takes a
// few MiB.
inline constexpr size_t kMaxExpandedBytes = 16 * 1024 * 1024;

// Measures, parses, cleans and checks what has come: texts in `message` hold no control characters
// and no more than their fields may, ids are ids, lists are as long as an agent makes them. Facts
// alone are as they came, for CheckFacts(): a report that breaks a rule must not cost the node its
// session. ResourceExhausted, InvalidArgument: no agent says so, and the stream is to be cut off.
absl::Status ReadAgentMessage(grpc::ByteBuffer& bytes, v1::AgentMessage& message);

// FailedPrecondition: a field of the facts breaks its rule; the error names it.
absl::Status CheckFacts(const v1::Facts& facts);

}  // namespace muster::controller
