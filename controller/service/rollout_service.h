// Rollouts, for people.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "muster/v1/rollout.grpc.pb.h"

namespace muster::controller::rollout {
enum class RolloutEvent;
class RolloutManager;
class UpdatePolicies;
}  // namespace muster::controller::rollout

namespace muster::controller {

class OpenCalls;
class Store;
struct Actor;

// RolloutService. Thread-safe. Watchers, which stay long and may be many, hold no thread.
class RolloutService final
    : public v1::RolloutService::WithCallbackMethod_WatchRollout<v1::RolloutService::Service> {
 public:
  static constexpr uint32_t kDefaultLimit = 20;
  static constexpr uint32_t kMaxLimit = 1000;

  // The references must outlive the object.
  RolloutService(rollout::RolloutManager& rollouts, rollout::UpdatePolicies& policies, Store& store,
                 std::string cluster, OpenCalls& calls)
      : rollouts_(rollouts),
        policies_(policies),
        store_(store),
        cluster_(std::move(cluster)),
        calls_(calls) {}

  grpc::Status CreateRollout(grpc::ServerContext* context, const v1::CreateRolloutRequest* request,
                             v1::CreateRolloutResponse* response) override;
  grpc::Status PreviewRollout(grpc::ServerContext* context, const v1::CreateRolloutRequest* request,
                              v1::PreviewRolloutResponse* response) override;
  grpc::Status GetRollout(grpc::ServerContext* context, const v1::GetRolloutRequest* request,
                          v1::GetRolloutResponse* response) override;
  grpc::Status ListRollouts(grpc::ServerContext* context, const v1::ListRolloutsRequest* request,
                            v1::ListRolloutsResponse* response) override;
  grpc::ServerWriteReactor<v1::RolloutEvent>* WatchRollout(
      grpc::CallbackServerContext* context, const v1::WatchRolloutRequest* request) override;
  grpc::Status PauseRollout(grpc::ServerContext* context, const v1::ChangeRolloutRequest* request,
                            v1::ChangeRolloutResponse* response) override;
  grpc::Status ResumeRollout(grpc::ServerContext* context, const v1::ChangeRolloutRequest* request,
                             v1::ChangeRolloutResponse* response) override;
  grpc::Status AbortRollout(grpc::ServerContext* context, const v1::ChangeRolloutRequest* request,
                            v1::ChangeRolloutResponse* response) override;
  grpc::Status RollBackRollout(grpc::ServerContext* context,
                               const v1::ChangeRolloutRequest* request,
                               v1::ChangeRolloutResponse* response) override;
  grpc::Status ExplainRolloutNode(grpc::ServerContext* context,
                                  const v1::ExplainRolloutNodeRequest* request,
                                  v1::ExplainRolloutNodeResponse* response) override;
  grpc::Status ListUpdatePolicies(grpc::ServerContext* context,
                                  const v1::ListUpdatePoliciesRequest* request,
                                  v1::ListUpdatePoliciesResponse* response) override;

  // The four calls that change a rollout, for whoever `actor` is.
  absl::Status Change(const Actor& actor, const v1::ChangeRolloutRequest& request,
                      rollout::RolloutEvent event, v1::ChangeRolloutResponse& response);

 private:
  absl::Status CreateRollout(const grpc::ServerContext& context,
                             const v1::CreateRolloutRequest& request,
                             v1::CreateRolloutResponse& response);
  absl::Status PreviewRollout(const grpc::ServerContext& context,
                              const v1::CreateRolloutRequest& request,
                              v1::PreviewRolloutResponse& response);
  absl::Status GetRollout(const v1::GetRolloutRequest& request, v1::GetRolloutResponse& response);
  absl::Status ListRollouts(const v1::ListRolloutsRequest& request,
                            v1::ListRolloutsResponse& response);
  absl::Status ExplainRolloutNode(const v1::ExplainRolloutNodeRequest& request,
                                  v1::ExplainRolloutNodeResponse& response);
  absl::Status ListUpdatePolicies(v1::ListUpdatePoliciesResponse& response);

  rollout::RolloutManager& rollouts_;
  rollout::UpdatePolicies& policies_;
  Store& store_;
  const std::string cluster_;
  OpenCalls& calls_;
};

}  // namespace muster::controller
