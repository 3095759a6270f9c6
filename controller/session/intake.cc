#include "controller/session/intake.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/wire/expansion.h"
#include "common/wire/message_rules.h"

namespace muster::controller {
namespace {

// A smaller message takes less than a MiB, whatever it contains.
constexpr size_t kSmallMessageBytes = 4096;

absl::Status Measure(grpc::ByteBuffer& bytes) {
  static const auto& meter = *new wire::ExpansionMeter(*v1::AgentMessage::descriptor());
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok()) return wire::NoMessage();
  return meter.Check(reader, kMaxExpandedBytes);
}

}  // namespace

absl::Status ReadAgentMessage(grpc::ByteBuffer& bytes, v1::AgentMessage& message) {
  if (const size_t size = bytes.Length(); size > kMaxAgentMessageBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a message of ", size, " bytes; at most ", kMaxAgentMessageBytes));
  }
  if (bytes.Length() > kSmallMessageBytes) RETURN_IF_ERROR(Measure(bytes));
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok() || !message.ParseFromZeroCopyStream(&reader)) return wire::NoMessage();
  if (!message.has_facts()) {
    wire::Clean(message);
    return wire::Check(message);
  }
  // Fields of a newer agent that we do not know have no rule, but would have one after an upgrade.
  message.DiscardUnknownFields();
  v1::FactsReport& report = *message.mutable_facts();
  v1::Facts* const facts = report.release_facts();
  const absl::Status rest = wire::Check(message);
  report.set_allocated_facts(facts);
  return rest;
}

absl::Status CheckFacts(const v1::Facts& facts) {
  const absl::Status status = wire::Check(facts);
  if (status.ok()) return status;
  return absl::FailedPreconditionError(
      absl::StrCat("the facts that the node sent are refused: ", status.message()));
}

}  // namespace muster::controller
