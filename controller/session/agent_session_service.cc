#include "controller/session/agent_session_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/artifact/blob_store.h"
#include "controller/enrollment/enrollment.h"
#include "controller/session/agent_session.h"
#include "controller/session/blob_stream.h"
#include "controller/session/caller.h"
#include "controller/session/open_calls.h"
#include "controller/session/session_registry.h"

namespace muster::controller {
namespace {

constexpr size_t kSha256Digits = 64;

absl::StatusOr<Caller> NodeOf(const grpc::CallbackServerContext& context) {
  ASSIGN_OR_RETURN(Caller caller, CallerOf(context));
  if (caller.identity.role != Role::kNode)
    return absl::PermissionDeniedError("only nodes may call this");
  return caller;
}

}  // namespace

AgentSessionService::AgentSessionService(SessionRegistry& registry, OpenCalls& calls,
                                         Enrollment& enrollment, std::string ca_pem,
                                         BlobStore& blobs, MayFetch may_fetch)
    : registry_(registry),
      calls_(calls),
      enrollment_(enrollment),
      ca_pem_(std::move(ca_pem)),
      blobs_(blobs),
      may_fetch_(std::move(may_fetch)) {}

AgentSession::Reactor* AgentSessionService::Connect(grpc::CallbackServerContext* context) {
  const absl::StatusOr<Caller> node = NodeOf(*context);
  if (!node.ok()) return AgentSession::Refuse(node.status());
  const absl::StatusOr<bool> is_behind = enrollment_.UseKey(
      node->identity.name, node->identity.serial, node->certificate_pem, node->ToActor());
  if (!is_behind.ok()) return AgentSession::Refuse(is_behind.status());
  return AgentSession::Begin(registry_, calls_, context, node->identity, *is_behind);
}

grpc::ServerUnaryReactor* AgentSessionService::RenewCertificate(
    grpc::CallbackServerContext* context, const v1::RenewCertificateRequest* request,
    v1::RenewCertificateResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto renew = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Caller node, NodeOf(*context));
    // A caller that has stopped waiting will ask again: a certificate issued to nobody must not
    // come after the next one.
    if (context->IsCancelled()) return absl::CancelledError("the caller has stopped waiting");
    ASSIGN_OR_RETURN(*response->mutable_certificate_pem(),
                     enrollment_.Renew(node.identity.name, node.certificate_pem, request->csr_pem(),
                                       node.ToActor()));
    response->set_ca_pem(ca_pem_);
    return absl::OkStatus();
  };
  reactor->Finish(ToGrpc(renew()));
  return reactor;
}

grpc::ServerWriteReactor<v1::FetchBlobResponse>* AgentSessionService::FetchBlob(
    grpc::CallbackServerContext* context, const v1::FetchBlobRequest* request) {
  const auto begin = [&]() -> absl::StatusOr<BlobStream*> {
    ASSIGN_OR_RETURN(const Caller node, NodeOf(*context));
    // Checked before it is repeated in an error.
    if (request->sha256().size() != kSha256Digits)
      return absl::InvalidArgumentError("a blob must be named by the 64 hex digits of its SHA-256");
    // A node whose plan does not name the blob must not learn whether it exists.
    if (!may_fetch_(node.identity.name, request->sha256())) {
      return absl::PermissionDeniedError(
          absl::StrCat("blob ", request->sha256(), " is not part of this node's current plan"));
    }
    RETURN_IF_ERROR(enrollment_.CheckKey(node.identity.name, node.identity.serial));
    if (!quota_.Take(node.identity.name)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("this node already has ", BlobQuota::kMaxOfNode, " blobs in transfer"));
    }
    return new BlobStream(blobs_, quota_, calls_.Add(node.identity, context), node.identity.name,
                          request->sha256(), request->offset());
  };
  const absl::StatusOr<BlobStream*> stream = begin();
  return stream.ok() ? *stream : BlobStream::Refuse(stream.status());
}

}  // namespace muster::controller
