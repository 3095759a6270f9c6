// Who is at the other end of a call.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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

// The codes are numerically equal. A message that does not fit is cut, with a note: gRPC would put
// an error of its transport in its place.
grpc::Status ToGrpc(const absl::Status& status);
// Whether a status can carry the message whole.
bool FitsStatus(absl::string_view message);

}  // namespace muster::controller
