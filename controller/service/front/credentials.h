// TLS of the two gRPC listeners.
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

// Reads controller.crt, controller.key and ca.crt of `folder` (/etc/muster/pki). The errors name
// the file and the remedy.
absl::StatusOr<TlsIdentity> LoadTlsIdentity(const std::string& folder);

// Makes TLS 1.3 the least that this process speaks, and each connection show its certificate anew.
// Call first in main(), before gRPC is used.
//
// gRPC 1.51 has no public setting for either. Its TLS 1.2 ciphers can be named, though: only ones
// for RSA certificates are, and ours are all elliptic, so no TLS 1.2 handshake finds a common
// cipher. TLS 1.3 has ciphers of its own that this does not touch.
//
// Left alone, gRPC's servers give session tickets: with one a client comes back without showing
// its certificate, and nobody looks at dates and signatures again. OpenSSL's own configuration,
// which each new context follows, says how many tickets are given: none.
absl::Status HardenTls();

// For the main listener: a client certificate of our CA is asked for and verified in the
// handshake, and CallGate stands before every call. The references but `identity` must outlive the
// server.
std::shared_ptr<grpc::ServerCredentials> MutualTlsCredentials(const TlsIdentity& identity,
                                                              const Denylist& denylist,
                                                              Clock& clock, CallShares& shares);

// For the enrolment listener: the callers have no certificate yet.
std::shared_ptr<grpc::ServerCredentials> ServerTlsCredentials(const TlsIdentity& identity);

}  // namespace muster::controller
