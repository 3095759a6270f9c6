#include "controller/service/front/call_gate.h"

#include <grpcpp/security/auth_context.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/call_metadata.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/service/front/authorization.h"
#include "controller/session/caller.h"

namespace muster::controller {
namespace {

constexpr absl::string_view kAgentStream = "/muster.v1.AgentSessionService/Connect";

absl::Status Pass(const grpc::AuthMetadataProcessor::InputMetadata& metadata,
                  const grpc::AuthContext& context, const Denylist& denylist, absl::Time now,
                  CallShares& shares) {
  ASSIGN_OR_RETURN(const Identity identity, IdentityOf(context));
  // gRPC passes the name of the call with the metadata, exactly once, as in HTTP/2.
  const auto [first, last] = metadata.equal_range(":path");
  if (first == last || std::next(first) != last)
    return absl::UnauthenticatedError("the call has no name");
  const absl::string_view rpc(first->second.data(), first->second.size());
  const auto verb = metadata.find(kVerbMetadata);
  return AdmitCall(identity, rpc,
                   verb == metadata.end()
                       ? absl::string_view()
                       : absl::string_view(verb->second.data(), verb->second.size()),
                   denylist, now, shares, KindOf(rpc));
}

}  // namespace

absl::Status AdmitCall(const Identity& identity, absl::string_view rpc, absl::string_view verb,
                       const Denylist& denylist, absl::Time now, CallShares& shares,
                       CallKind kind) {
  RETURN_IF_ERROR(CheckStanding(identity, denylist, now));
  RETURN_IF_ERROR(Authorize(rpc, identity, verb));
  if (rpc != kAgentStream) RETURN_IF_ERROR(shares.CheckOpen());
  return identity.role == Role::kNode ? absl::OkStatus() : shares.Admit(identity.name, kind);
}

grpc::Status CallGate::Process(const InputMetadata& metadata, grpc::AuthContext* context,
                               OutputMetadata*, OutputMetadata*) {
  return ToGrpc(Pass(metadata, *context, denylist_, clock_.Now(), shares_));
}

}  // namespace muster::controller
