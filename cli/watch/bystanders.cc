#include "cli/watch/bystanders.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "cli/connection.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

using NodeStub = v1::NodeService::Stub;

// The controller lets one person wait for the facts of two nodes at once.
constexpr size_t kCallsAtOnce = 2;

absl::StatusOr<std::vector<std::string>> Others(const Connection& connection,
                                                const std::set<std::string>& concerned) {
  NodeStub stub(connection.channel());
  v1::ListNodesRequest request;
  request.set_selector("compute");
  v1::ListNodesResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::ListNodes, request, &response));
  std::vector<std::string> others;
  for (const v1::Node& node : response.nodes())
    if (node.connected() && concerned.count(node.name()) == 0) others.push_back(node.name());
  return others;
}

// Takes the jobs; returns the nodes that have any.
std::set<std::string> TakeJobs(const Connection& connection, const std::vector<std::string>& nodes,
                               Bystanders& seen) {
  NodeStub stub(connection.channel());
  v1::ListNodeJobsRequest request;
  request.set_nodes(FoldHostlist(nodes));
  v1::ListNodeJobsResponse response;
  const absl::Status status = Call(connection, stub, &NodeStub::ListNodeJobs, request, &response);
  seen.jobs_unknown = status.ok() ? response.unknown() : std::string(status.message());
  std::set<std::string> busy;
  for (const v1::NodeJobs& node : response.nodes()) {
    busy.insert(node.node());
    for (const v1::SlurmJobInfo& job : node.jobs()) seen.jobs.insert(job.id());
  }
  return busy;
}

void TakeSlurmds(const Connection& connection, const std::vector<std::string>& nodes,
                 Bystanders& seen) {
  absl::Mutex mutex;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    NodeStub stub(connection.channel());
    for (size_t i = next++; i < nodes.size(); i = next++) {
      v1::GetNodeFactsRequest request;
      request.set_name(nodes[i]);
      request.set_refresh(true);
      v1::GetNodeFactsResponse response;
      const absl::Status status =
          Call(connection, stub, &NodeStub::GetNodeFacts, request, &response);
      const v1::SlurmFacts& slurm = response.facts().slurm();
      absl::MutexLock lock(&mutex);
      if (!status.ok()) {
        seen.unknown[nodes[i]] = std::string(status.message());
      } else if (slurm.slurmd_pid() != 0) {
        seen.slurmds[nodes[i]] = {slurm.slurmd_pid(), slurm.slurmd_invocation()};
      }
    }
  };
  std::vector<std::thread> workers;
  for (size_t i = 0; i < std::min(kCallsAtOnce, nodes.size()); ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

absl::StatusOr<Bystanders> LookAtBystanders(const Connection& connection,
                                            const std::set<std::string>& concerned,
                                            const std::set<std::string>& only) {
  ASSIGN_OR_RETURN(std::vector<std::string> others, Others(connection, concerned));
  Bystanders seen;
  if (others.empty()) return seen;
  const std::set<std::string> busy = TakeJobs(connection, others, seen);
  std::stable_partition(others.begin(), others.end(),
                        [&](const std::string& node) { return busy.count(node) > 0; });
  if (!only.empty()) {
    others.assign(only.begin(), only.end());
  } else if (others.size() > kAskedBystanders) {
    seen.unasked = others.size() - kAskedBystanders;
    others.resize(kAskedBystanders);
  }
  TakeSlurmds(connection, others, seen);
  return seen;
}

}  // namespace muster::cli
