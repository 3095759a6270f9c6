// The gate of the main listener: every call passes it before any service sees the call.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>

#include "controller/enrollment/denylist.h"

namespace muster::controller {

// Lets a call through when its certificate holds an identity, is not denied and the authorization
// table allows the call. Quick and without I/O, so it runs on gRPC's own threads. Thread-safe.
class CallGate final : public grpc::AuthMetadataProcessor {
 public:
  // `denylist` must outlive the object.
  explicit CallGate(const Denylist& denylist) : denylist_(denylist) {}

  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context,
                       OutputMetadata* consumed, OutputMetadata* response) override;

 private:
  const Denylist& denylist_;
};

}  // namespace muster::controller
