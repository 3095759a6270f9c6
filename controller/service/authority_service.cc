#include "controller/service/authority_service.h"

#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "controller/enrollment/authority_change.h"
#include "controller/enrollment/certificate_authority.h"
#include "controller/session/agent_sessions.h"
#include "controller/session/caller.h"

namespace muster::controller {

AuthorityService::AuthorityService(Store& store, const CertificateAuthority& ca,
                                   const AgentSessions& sessions, Clock& clock)
    : store_(store), ca_(ca), sessions_(sessions), clock_(clock) {}

grpc::Status AuthorityService::GetAuthority(grpc::ServerContext*, const v1::GetAuthorityRequest*,
                                            v1::GetAuthorityResponse* response) {
  return ToGrpc(GetAuthority(*response));
}

absl::Status AuthorityService::GetAuthority(v1::GetAuthorityResponse& response) {
  ASSIGN_OR_RETURN(const std::vector<std::string> trusted, pki::Pins(ca_.roots().pem));
  ASSIGN_OR_RETURN(const Behind behind, WhoIsBehind(store_, ca_, clock_.Now()));
  response.set_signing(ca_.pin());
  *response.mutable_ends_at() = ToTimestamp(ca_.ends_at());
  response.mutable_trusted()->Assign(trusted.begin(), trusted.end());
  for (const auto& [uuid, name] : behind.nodes) {
    v1::NodeBehind& node = *response.add_nodes_behind();
    node.set_name(name);
    node.set_is_connected(sessions_.IsConnected(uuid));
  }
  response.mutable_people_behind()->Assign(behind.people.begin(), behind.people.end());
  return absl::OkStatus();
}

}  // namespace muster::controller
