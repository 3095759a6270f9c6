// The calls of machines that are not nodes yet.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "muster/v1/enrollment.grpc.pb.h"

namespace muster::controller {

class CallShares;
class Enrollment;
class TokenRequests;
struct JoinResult;
namespace boot {
class Boots;
}

// EnrollmentService, the only service on the enrollment listener. Thread-safe.
class EnrollmentService final : public v1::EnrollmentService::Service {
 public:
  // The references must outlive the object.
  EnrollmentService(Enrollment& enrollment, TokenRequests& requests, boot::Boots& boots,
                    const CallShares& shares, std::string ca_pem);

  grpc::Status RequestToken(grpc::ServerContext* context, const v1::RequestTokenRequest* request,
                            v1::RequestTokenResponse* response) override;
  grpc::Status Enroll(grpc::ServerContext* context, const v1::EnrollRequest* request,
                      v1::EnrollResponse* response) override;
  grpc::Status GetEnrollment(grpc::ServerContext* context, const v1::GetEnrollmentRequest* request,
                             v1::EnrollResponse* response) override;
  grpc::Status GetDiskOrder(grpc::ServerContext* context, const v1::GetDiskOrderRequest* request,
                            v1::GetDiskOrderResponse* response) override;

 private:
  absl::Status OrderDisk(const v1::GetDiskOrderRequest& request,
                         v1::GetDiskOrderResponse& response);
  void Convert(const JoinResult& result, v1::EnrollResponse& response) const;

  Enrollment& enrollment_;
  TokenRequests& requests_;
  boot::Boots& boots_;
  const CallShares& shares_;
  const std::string ca_pem_;
};

}  // namespace muster::controller
