// Runs, for people.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::controller {

class OpenCalls;
class RunManager;
class Store;

// RunService. Thread-safe. Watchers, which stay long and may be many, hold no thread.
class RunService final
    : public v1::RunService::WithCallbackMethod_WatchRun<v1::RunService::Service> {
 public:
  static constexpr uint32_t kDefaultLimit = 20;
  static constexpr uint32_t kMaxLimit = 1000;

  // The references must outlive the object.
  RunService(RunManager& runs, Store& store, std::string cluster, OpenCalls& calls)
      : runs_(runs), store_(store), cluster_(std::move(cluster)), calls_(calls) {}

  grpc::Status CreateRun(grpc::ServerContext* context, const v1::CreateRunRequest* request,
                         v1::CreateRunResponse* response) override;
  grpc::Status PreviewRun(grpc::ServerContext* context, const v1::CreateRunRequest* request,
                          v1::PreviewRunResponse* response) override;
  grpc::Status GetRun(grpc::ServerContext* context, const v1::GetRunRequest* request,
                      v1::GetRunResponse* response) override;
  grpc::Status ListRuns(grpc::ServerContext* context, const v1::ListRunsRequest* request,
                        v1::ListRunsResponse* response) override;
  grpc::ServerWriteReactor<v1::RunEvent>* WatchRun(grpc::CallbackServerContext* context,
                                                   const v1::WatchRunRequest* request) override;
  grpc::Status CancelRun(grpc::ServerContext* context, const v1::CancelRunRequest* request,
                         v1::CancelRunResponse* response) override;
  grpc::Status ListStepResults(grpc::ServerContext* context,
                               const v1::ListStepResultsRequest* request,
                               v1::ListStepResultsResponse* response) override;

 private:
  absl::Status CreateRun(const grpc::ServerContext& context, const v1::CreateRunRequest& request,
                         v1::CreateRunResponse& response);
  absl::Status PreviewRun(const grpc::ServerContext& context, const v1::CreateRunRequest& request,
                          v1::PreviewRunResponse& response);
  absl::Status GetRun(const v1::GetRunRequest& request, v1::GetRunResponse& response);
  absl::Status ListRuns(const v1::ListRunsRequest& request, v1::ListRunsResponse& response);
  absl::Status CancelRun(const grpc::ServerContext& context, const v1::CancelRunRequest& request);
  absl::Status ListStepResults(const v1::ListStepResultsRequest& request,
                               v1::ListStepResultsResponse& response);

  RunManager& runs_;
  Store& store_;
  const std::string cluster_;
  OpenCalls& calls_;
};

}  // namespace muster::controller
