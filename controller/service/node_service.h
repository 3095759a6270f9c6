// Nodes, for people.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster {
class Clock;
}

namespace muster::controller::health {
class HealthMonitor;
}
namespace muster::controller::slurm {
class SlurmControl;
}
namespace muster::controller::validation {
class JobGate;
}

namespace muster::controller {

class AgentSessions;
class Enrollment;
class FactsKeeper;
class InventorySource;
class Store;
struct Actor;
struct InventoryVersion;

// NodeService. Thread-safe.
class NodeService final : public v1::NodeService::Service {
 public:
  static constexpr absl::Duration kFactsTimeout = absl::Seconds(30);

  struct About {
    std::string cluster;
    std::string ca_pin;
    std::string version;
    absl::Time started_at;
    Clock* clock = nullptr;  // outlives the object
    // The nodes' memberships have ended.
    std::function<void(const std::vector<std::string>& nodes)> on_removed =
        [](const std::vector<std::string>&) {};
  };

  // The references must outlive the object.
  NodeService(Store& store, InventorySource& inventory, Enrollment& enrollment,
              AgentSessions& sessions, FactsKeeper& facts, slurm::SlurmControl& slurm,
              validation::JobGate& gate, health::HealthMonitor& health, About about);

  grpc::Status ListNodes(grpc::ServerContext* context, const v1::ListNodesRequest* request,
                         v1::ListNodesResponse* response) override;
  grpc::Status GetNode(grpc::ServerContext* context, const v1::GetNodeRequest* request,
                       v1::GetNodeResponse* response) override;
  grpc::Status GetNodeFacts(grpc::ServerContext* context, const v1::GetNodeFactsRequest* request,
                            v1::GetNodeFactsResponse* response) override;
  grpc::Status ApproveNode(grpc::ServerContext* context, const v1::ApproveNodeRequest* request,
                           v1::ApproveNodeResponse* response) override;
  grpc::Status RemoveNode(grpc::ServerContext* context, const v1::RemoveNodeRequest* request,
                          v1::RemoveNodeResponse* response) override;
  grpc::Status DrainNodes(grpc::ServerContext* context, const v1::DrainNodesRequest* request,
                          v1::DrainNodesResponse* response) override;
  grpc::Status ResumeNodes(grpc::ServerContext* context, const v1::ResumeNodesRequest* request,
                           v1::ResumeNodesResponse* response) override;
  grpc::Status ListNodeJobs(grpc::ServerContext* context, const v1::ListNodeJobsRequest* request,
                            v1::ListNodeJobsResponse* response) override;
  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest* request,
                         v1::GetStatusResponse* response) override;
  // What ListNodes says of all nodes, without the details that take long for thousands of them.
  absl::StatusOr<std::vector<v1::Node>> ListWithoutDetails();
  // GetStatus for a cluster with these nodes, as ListWithoutDetails() gave them a moment ago.
  absl::Status FillStatus(const std::vector<v1::Node>& nodes, v1::GetStatusResponse& response);

  // The calls of the same names, for whoever `actor` is.
  absl::Status Drain(const Actor& actor, const v1::DrainNodesRequest& request,
                     v1::DrainNodesResponse& response);
  absl::Status Resume(const Actor& actor, const v1::ResumeNodesRequest& request,
                      v1::ResumeNodesResponse& response);

 private:
  absl::Status ListNodes(const v1::ListNodesRequest& request, v1::ListNodesResponse& response);
  absl::Status GetNode(const v1::GetNodeRequest& request, v1::GetNodeResponse& response);
  // nullptr, as the web page calls: the request refreshes nothing.
  absl::Status GetNodeFacts(const grpc::ServerContext* context,
                            const v1::GetNodeFactsRequest& request,
                            v1::GetNodeFactsResponse& response);
  absl::Status ApproveNode(const grpc::ServerContext& context,
                           const v1::ApproveNodeRequest& request,
                           v1::ApproveNodeResponse& response);
  absl::Status RemoveNode(const grpc::ServerContext& context, const v1::RemoveNodeRequest& request,
                          v1::RemoveNodeResponse& response);
  absl::Status ListNodeJobs(const v1::ListNodeJobsRequest& request,
                            v1::ListNodeJobsResponse& response);

  // Has no inventory when none was applied yet.
  absl::StatusOr<InventoryVersion> InventoryIfAny();
  absl::StatusOr<std::vector<v1::Node>> AllNodes(const InventoryVersion& inventory);
  bool IsMember(const std::string& name);
  // The workers that a selector names, with members that the inventory has dropped.
  // FailedPrecondition: the gate is off.
  absl::StatusOr<std::vector<std::string>> Workers(const std::string& selector);

  Store& store_;
  InventorySource& inventory_;
  Enrollment& enrollment_;
  AgentSessions& sessions_;
  FactsKeeper& facts_;
  slurm::SlurmControl& slurm_;
  validation::JobGate& gate_;
  health::HealthMonitor& health_;
  const About about_;
};

}  // namespace muster::controller
