// Validations, for people.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "muster/v1/validation.grpc.pb.h"

namespace muster::controller {

namespace validation {
class FollowUps;
class ValidationManager;
}  // namespace validation
class BundleApprovals;
class OpenCalls;
class Store;

// ValidationService. Thread-safe. Watchers, which stay long and may be many, hold no thread.
class ValidationService final : public v1::ValidationService::WithCallbackMethod_WatchValidation<
                                    v1::ValidationService::Service> {
 public:
  static constexpr uint32_t kDefaultLimit = 20;
  static constexpr uint32_t kMaxLimit = 1000;

  // The references must outlive the object.
  ValidationService(validation::ValidationManager& validations,
                    validation::FollowUps& run_validations, BundleApprovals& approvals,
                    Store& store, OpenCalls& calls)
      : validations_(validations),
        run_validations_(run_validations),
        approvals_(approvals),
        store_(store),
        calls_(calls) {}

  grpc::Status CreateValidation(grpc::ServerContext* context,
                                const v1::CreateValidationRequest* request,
                                v1::CreateValidationResponse* response) override;
  grpc::Status GetValidation(grpc::ServerContext* context, const v1::GetValidationRequest* request,
                             v1::GetValidationResponse* response) override;
  grpc::Status ListValidations(grpc::ServerContext* context,
                               const v1::ListValidationsRequest* request,
                               v1::ListValidationsResponse* response) override;
  grpc::ServerWriteReactor<v1::ValidationEvent>* WatchValidation(
      grpc::CallbackServerContext* context, const v1::WatchValidationRequest* request) override;
  grpc::Status CancelValidation(grpc::ServerContext* context,
                                const v1::CancelValidationRequest* request,
                                v1::CancelValidationResponse* response) override;
  grpc::Status ListCheckResults(grpc::ServerContext* context,
                                const v1::ListCheckResultsRequest* request,
                                grpc::ServerWriter<v1::NodeCheckResult>* writer) override;

  // Calls `take` with each result of the request, node by node, until it returns false: Cancelled.
  absl::Status EachResult(const v1::ListCheckResultsRequest& request,
                          absl::FunctionRef<bool(const v1::NodeCheckResult&)> take);

 private:
  absl::Status Create(const grpc::ServerContext& context,
                      const v1::CreateValidationRequest& request,
                      v1::CreateValidationResponse& response);
  absl::Status List(const v1::ListValidationsRequest& request,
                    v1::ListValidationsResponse& response);
  absl::Status Cancel(const grpc::ServerContext& context,
                      const v1::CancelValidationRequest& request);

  validation::ValidationManager& validations_;
  validation::FollowUps& run_validations_;
  BundleApprovals& approvals_;
  Store& store_;
  OpenCalls& calls_;
};

}  // namespace muster::controller
