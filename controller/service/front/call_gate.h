// The gate of the main listener: every call passes it before it reaches a service.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/enrollment/denylist.h"
#include "controller/service/front/call_shares.h"

namespace muster {
class Clock;
}

namespace muster::controller {

// Whether a person or a node may make this call now: its certificate is neither expired nor denied,
// the authorization table allows the call, the controller is not on probation, and a person has not
// too many calls in progress, of which this one is from now on. For calls that reach us by other
// ways than gRPC, too. `verb` as of Authorize().
absl::Status AdmitCall(const Identity& identity, absl::string_view rpc, absl::string_view verb,
                       const Denylist& denylist, absl::Time now, CallShares& shares, CallKind kind);

// Lets a call through when its certificate holds an identity and is neither expired nor denied, the
// authorization table allows the call, and a person has not too many calls in progress. Quick and
// without I/O, so it runs on gRPC's own threads. Thread-safe.
class CallGate final : public grpc::AuthMetadataProcessor {
 public:
  // The references must outlive the object.
  CallGate(const Denylist& denylist, Clock& clock, CallShares& shares)
      : denylist_(denylist), clock_(clock), shares_(shares) {}

  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context,
                       OutputMetadata* consumed, OutputMetadata* response) override;

 private:
  const Denylist& denylist_;
  Clock& clock_;
  CallShares& shares_;
};

}  // namespace muster::controller
