// The certificate authority and those who are behind it, for administrators.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/authority.grpc.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller {

class AgentSessions;
class CertificateAuthority;
class Store;

// AuthorityService. Thread-safe.
class AuthorityService final : public v1::AuthorityService::Service {
 public:
  // All references must outlive the object.
  AuthorityService(Store& store, const CertificateAuthority& ca, const AgentSessions& sessions,
                   Clock& clock);

  grpc::Status GetAuthority(grpc::ServerContext* context, const v1::GetAuthorityRequest* request,
                            v1::GetAuthorityResponse* response) override;

 private:
  absl::Status GetAuthority(v1::GetAuthorityResponse& response);

  Store& store_;
  const CertificateAuthority& ca_;
  const AgentSessions& sessions_;
  Clock& clock_;
};

}  // namespace muster::controller
