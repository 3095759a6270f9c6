// Joins this machine to a cluster as a node.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/state/paths.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

class Tpm;

// The contents of the join line.
struct JoinOptions {
  std::string controller;  // host:port of the main listener
  std::string enrollment;  // host:port of the enrollment listener
  std::string node_name;   // in the inventory
  std::string ca_pin;      // "sha256:<hex>" of the CA certificate
  // Never logged. Empty: the machine asks for one itself, as one that has booted from the network.
  std::string token;
  std::string description;  // for the administrator who approves
  // Join although the machine is a node already, under a new uuid.
  bool force = false;
  // With an empty token, by which the machine proves which one it is; nullptr: it has none, and an
  // administrator compares keys. Must outlive the call.
  Tpm* tpm = nullptr;
};

// Authenticates the controller by its CA's digest, presents token and CSR, waits for the
// administrator if approval is required, and stores the identity. `say` gets lines for the waiting
// person. Called again after an interruption, it continues with the same uuid and CSR. A machine
// whose certificate has expired joins under the same name with the uuid that it has. Where the
// controller does not take the machine for the one of that uuid, it joins with a new one. With a
// TPM the uuid is the one that follows from its key and the node's name. AlreadyExists: the machine
// has a certificate that is valid.
absl::Status Join(const JoinOptions& options, const Paths& paths, sys::FileSystem& files,
                  Clock& clock, const std::function<void(absl::string_view)>& say);

// Whether Join() would answer AlreadyExists, by the machine's own files alone: it is a node, its
// certificate has not expired, and the controller has not ended its membership. A certificate that
// seems to have expired may be valid, and one that seems to be of the future may have expired: the
// clock of a machine that boots with an empty battery is set when its network is up. The call waits
// a minute for that.
absl::StatusOr<bool> HasJoined(const JoinOptions& options, const Paths& paths,
                               sys::FileSystem& files, Clock& clock);

}  // namespace muster::agent
