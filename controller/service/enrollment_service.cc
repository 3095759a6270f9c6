#include "controller/service/enrollment_service.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/value/image_manifest.h"
#include "controller/boot/boot_request.h"
#include "controller/boot/boots.h"
#include "controller/enrollment/enrollment.h"
#include "controller/enrollment/token_requests.h"
#include "controller/service/front/call_shares.h"
#include "controller/session/caller.h"

namespace muster::controller {
namespace {

constexpr absl::Duration kAskAgain = absl::Seconds(5);

struct JoinStateRow {
  JoinResult::State from;
  v1::EnrollmentState to;
};
constexpr JoinStateRow kJoinStates[] = {
    {JoinResult::kPending, v1::ENROLLMENT_STATE_PENDING},
    {JoinResult::kApproved, v1::ENROLLMENT_STATE_APPROVED},
    {JoinResult::kRejected, v1::ENROLLMENT_STATE_REJECTED},
};

// More than any machine has.
constexpr int kMaxMacs = 256;

v1::DiskFile FileOf(const v1::Image& image, const v1::ImageArtifact& artifact) {
  v1::DiskFile file;
  // Steps of boots are those of the network.
  file.set_path(boot::ArtifactPath(image.digest(), artifact.name(), /*boot_id=*/""));
  file.set_sha256(artifact.sha256());
  file.set_size_bytes(artifact.size_bytes());
  return file;
}

}  // namespace

EnrollmentService::EnrollmentService(Enrollment& enrollment, TokenRequests& requests,
                                     boot::Boots& boots, const CallShares& shares,
                                     std::string ca_pem)
    : enrollment_(enrollment),
      requests_(requests),
      boots_(boots),
      shares_(shares),
      ca_pem_(std::move(ca_pem)) {}

grpc::Status EnrollmentService::RequestToken(grpc::ServerContext* context,
                                             const v1::RequestTokenRequest* request,
                                             v1::RequestTokenResponse* response) {
  if (const absl::Status open = shares_.CheckOpen(); !open.ok()) return ToGrpc(open);
  absl::StatusOr<RequestedToken> made =
      requests_.Request({.node_name = request->node_name(),
                         .endorsement_key_pem = request->endorsement_key_pem(),
                         .key_name = request->key_name(),
                         .peer = context->peer()});
  if (made.ok()) {
    response->set_token(std::move(made->token));
    response->set_sealed_token(std::move(made->sealed));
    response->set_node_uuid(std::move(made->node_uuid));
  }
  return ToGrpc(made.status());
}

grpc::Status EnrollmentService::Enroll(grpc::ServerContext* context,
                                       const v1::EnrollRequest* request,
                                       v1::EnrollResponse* response) {
  if (const absl::Status open = shares_.CheckOpen(); !open.ok()) return ToGrpc(open);
  const absl::StatusOr<JoinResult> result =
      enrollment_.Join({request->token(), request->node_name(), request->node_uuid(),
                        request->csr_pem(), request->description(), context->peer()});
  if (result.ok()) Convert(*result, *response);
  return ToGrpc(result.status());
}

grpc::Status EnrollmentService::GetEnrollment(grpc::ServerContext* context,
                                              const v1::GetEnrollmentRequest* request,
                                              v1::EnrollResponse* response) {
  if (const absl::Status open = shares_.CheckOpen(); !open.ok()) return ToGrpc(open);
  const absl::StatusOr<JoinResult> result =
      enrollment_.GetJoin(request->enrollment_id(), request->token(), context->peer());
  if (result.ok()) Convert(*result, *response);
  return ToGrpc(result.status());
}

grpc::Status EnrollmentService::GetDiskOrder(grpc::ServerContext*,
                                             const v1::GetDiskOrderRequest* request,
                                             v1::GetDiskOrderResponse* response) {
  if (const absl::Status open = shares_.CheckOpen(); !open.ok()) return ToGrpc(open);
  return ToGrpc(OrderDisk(*request, *response));
}

absl::Status EnrollmentService::OrderDisk(const v1::GetDiskOrderRequest& request,
                                          v1::GetDiskOrderResponse& response) {
  if (!IsSha256(request.root_sha256()))
    return absl::InvalidArgumentError("root_sha256: write 64 digits, in lower-case hex");
  if (request.macs_size() > kMaxMacs)
    return absl::InvalidArgumentError(absl::StrCat("macs: at most ", kMaxMacs));
  std::vector<std::string> macs;
  for (int i = 0; i < request.macs_size(); ++i) {
    const std::optional<std::string> mac = boot::ReadMac(request.macs(i));
    if (!mac.has_value())
      return absl::InvalidArgumentError(absl::StrCat("macs[", i, "]: not a MAC address"));
    macs.push_back(*mac);
  }
  ASSIGN_OR_RETURN(const boot::DiskOrder order, boots_.DiskOrderOf(macs, request.root_sha256()));
  const v1::SignedKernel& kernel = order.image->signed_kernel();
  response.set_image(BuildName(*order.image));
  response.set_device(order.device);
  *response.mutable_loader() = FileOf(*order.image, kernel.loader());
  *response.mutable_kernel() = FileOf(*order.image, kernel.artifact());
  response.set_node(order.node);
  return absl::OkStatus();
}

void EnrollmentService::Convert(const JoinResult& result, v1::EnrollResponse& response) const {
  for (const JoinStateRow& row : kJoinStates) {
    if (row.from == result.state) response.set_state(row.to);
  }
  if (result.state == JoinResult::kPending) {
    response.set_enrollment_id(result.enrollment_id);
    response.mutable_retry_after()->set_seconds(absl::ToInt64Seconds(kAskAgain));
  }
  if (result.state == JoinResult::kApproved) {
    response.set_certificate_pem(result.certificate_pem);
    response.set_ca_pem(ca_pem_);
  }
}

}  // namespace muster::controller
