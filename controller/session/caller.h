// Who is at the other end of a call.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/enrollment/identity.h"

namespace grpc {
class AuthContext;
class ServerContextBase;
class Status;
}  // namespace grpc

namespace muster::controller {

struct Actor;

struct Caller {
  Identity identity;
  std::string peer;             // "ipv4:10.0.0.1:53122"
  std::string certificate_pem;  // as verified during the handshake

  Actor ToActor() const;
};

// By the certificate of the connection, never by what a message says. Unauthenticated: none, or
// one without an identity of ours.
absl::StatusOr<Caller> CallerOf(const grpc::ServerContextBase& context);
absl::StatusOr<Identity> IdentityOf(const grpc::AuthContext& context);

// The codes are numerically equal.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace muster::controller
