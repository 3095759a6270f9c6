// TLS for the two gRPC listeners.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/security/server_credentials.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster {
class Clock;
}

namespace muster::controller {

class CallShares;
class Denylist;

// The controller's own certificate and key, and the CA whose certificates it accepts. PEM.
struct TlsIdentity {
  std::string certificate_pem;
  std::string key_pem;
  std::string ca_pem;
};

// Reads controller.crt, controller.key and ca.crt from `folder` (/etc/muster/pki). The errors name
// the file and the remedy.
absl::StatusOr<TlsIdentity> LoadTlsIdentity(const std::string& folder);

// Makes TLS 1.3 the minimum version of this process and has each connection show its certificate
// anew. Call first in main(), before gRPC is used.
//
// gRPC 1.51 has no public setting for either, but its TLS 1.2 ciphers can be chosen: only those for
// RSA certificates are, and ours are all elliptic, so no TLS 1.2 handshake finds a common cipher.
// TLS 1.3 has ciphers of its own, which this does not affect.
//
// By default, gRPC's servers issue session tickets: with one, a client comes back without showing
// its certificate, and nobody checks dates and signatures again. OpenSSL's own configuration, which
// each new context follows, sets the number of tickets to none.
absl::Status HardenTls();

// For the main listener: requests a client certificate of our CA and verifies it in the handshake;
// CallGate comes before every call. The references except `identity` must outlive the server.
std::shared_ptr<grpc::ServerCredentials> MutualTlsCredentials(const TlsIdentity& identity,
                                                              const Denylist& denylist,
                                                              Clock& clock, CallShares& shares);

// For the enrollment listener: callers have no certificate yet.
std::shared_ptr<grpc::ServerCredentials> ServerTlsCredentials(const TlsIdentity& identity);

}  // namespace muster::controller
