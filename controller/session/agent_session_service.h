// The calls of agents.
#pragma once

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "controller/session/blob_stream.h"
#include "muster/v1/agent_session.grpc.pb.h"

namespace muster::controller {

class Enrollment;
class OpenCalls;
class SessionRegistry;

// Serves the stream as bytes and the other calls as messages; see AgentSession.
using AgentCalls = v1::AgentSessionService::WithRawCallbackMethod_Connect<
    v1::AgentSessionService::WithCallbackMethod_RenewCertificate<
        v1::AgentSessionService::WithCallbackMethod_FetchBlob<v1::AgentSessionService::Service>>>;

// AgentSessionService over gRPC's callback API: no thread waits for any agent. Nodes are identified
// by their certificates.
class AgentSessionService final : public AgentCalls {
 public:
  // Whether the blob is part of the node's current plan; called for every FetchBlob. Thread-safe.
  using MayFetch = std::function<bool(absl::string_view node_uuid, absl::string_view sha256)>;

  // The references must outlive the object.
  AgentSessionService(SessionRegistry& registry, OpenCalls& calls, Enrollment& enrollment,
                      std::string ca_pem, BlobStore& blobs, MayFetch may_fetch);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Connect(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* RenewCertificate(grpc::CallbackServerContext* context,
                                             const v1::RenewCertificateRequest* request,
                                             v1::RenewCertificateResponse* response) override;
  grpc::ServerWriteReactor<v1::FetchBlobResponse>* FetchBlob(
      grpc::CallbackServerContext* context, const v1::FetchBlobRequest* request) override;

 private:
  SessionRegistry& registry_;
  OpenCalls& calls_;
  Enrollment& enrollment_;
  const std::string ca_pem_;
  BlobStore& blobs_;
  const MayFetch may_fetch_;
  BlobQuota quota_;
};

}  // namespace muster::controller
