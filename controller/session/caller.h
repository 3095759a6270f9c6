// The identity of a call's peer.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
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

// Identifies the caller by the certificate of the connection, never by the content of a message.
// Unauthenticated: there is none, or it holds no identity of ours.
absl::StatusOr<Caller> CallerOf(const grpc::ServerContextBase& context);
absl::StatusOr<Identity> IdentityOf(const grpc::AuthContext& context);

// The codes are numerically equal. A message that does not fit is cut, with a note: gRPC would
// replace it with an error of its transport.
grpc::Status ToGrpc(const absl::Status& status);
// Whether a status can carry the message in full.
bool FitsStatus(absl::string_view message);

// Has `call` act for the caller; its errors and those of CallerOf() become gRPC's.
grpc::Status ActAsCaller(const grpc::ServerContextBase& context,
                         absl::FunctionRef<absl::Status(const Actor& actor)> call);

}  // namespace muster::controller
