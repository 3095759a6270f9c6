#include "bench/swarm/viewer_storm.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/enrollment/identity.h"
#include "muster/v1/explain.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::bench {
namespace {

// kMinHeartbeatInterval of controller/session/fleet_pace.h.
constexpr absl::Duration kInterval = absl::Seconds(5);
constexpr absl::Duration kLookEvery = absl::Milliseconds(500);
// A list of ten thousand nodes would wait behind those that the viewers get, for longer than an
// interval: heartbeats would count as unseen because nobody looked.
constexpr size_t kObserved = 300;

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectAs(const SwarmCluster& cluster,
                                                         controller::Role role,
                                                         const std::string& name) {
  const testing::AgentSwarm::Options own = cluster.SwarmOptions();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = own.ca_pem;
  options.pem_private_key = own.key_pem;
  ASSIGN_OR_RETURN(options.pem_cert_chain, cluster.IssueUser(name, role));
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(own.address, grpc::SslCredentials(options), arguments);
}

// The objects that all viewers look at.
struct Subject {
  std::vector<std::string> nodes;
  std::string run_id;
};

class Viewer {
 public:
  Viewer(std::shared_ptr<grpc::Channel> channel, const Subject& subject, unsigned seed)
      : nodes_(v1::NodeService::NewStub(channel)),
        runs_(v1::RunService::NewStub(channel)),
        explain_(v1::ExplainService::NewStub(channel)),
        subject_(subject),
        random_(seed) {}

  grpc::Status Call() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    const std::string& node = subject_.nodes[random_() % subject_.nodes.size()];
    switch (random_() % 7) {
      case 0: {
        v1::ListNodesResponse response;
        return nodes_->ListNodes(&context, {}, &response);
      }
      case 1: {
        v1::GetNodeFactsRequest request;
        request.set_name(node);
        v1::GetNodeFactsResponse response;
        return nodes_->GetNodeFacts(&context, request, &response);
      }
      case 2: {
        v1::GetStatusResponse response;
        return nodes_->GetStatus(&context, {}, &response);
      }
      case 3: {
        v1::ListRunsResponse response;
        return runs_->ListRuns(&context, {}, &response);
      }
      case 4: {
        v1::GetRunRequest request;
        request.set_run_id(subject_.run_id);
        v1::GetRunResponse response;
        return runs_->GetRun(&context, request, &response);
      }
      case 5: {
        v1::ExplainVariableRequest request;
        request.set_node(node);
        request.set_name("gpu_driver_branch");
        v1::ExplainVariableResponse response;
        const grpc::Status status = explain_->ExplainVariable(&context, request, &response);
        // login1 has no such variable.
        return status.error_code() == grpc::StatusCode::NOT_FOUND ? grpc::Status::OK : status;
      }
      default: {
        v1::WatchRunRequest request;
        request.set_run_id(subject_.run_id);
        const auto events = runs_->WatchRun(&context, request);
        v1::RunEvent event;
        while (events->Read(&event)) continue;
        return events->Finish();
      }
    }
  }

 private:
  const std::unique_ptr<v1::NodeService::Stub> nodes_;
  const std::unique_ptr<v1::RunService::Stub> runs_;
  const std::unique_ptr<v1::ExplainService::Stub> explain_;
  const Subject& subject_;
  std::minstd_rand random_;
};

// Compares the heartbeats that some of the agents sent with those that the controller has noted.
class Observer {
 public:
  Observer(std::shared_ptr<grpc::Channel> channel, const testing::AgentSwarm& swarm,
           const std::vector<std::string>& nodes)
      : nodes_(v1::NodeService::NewStub(channel)), swarm_(swarm) {
    const size_t step = std::max<size_t>(1, nodes.size() / kObserved);
    for (size_t i = 0; i < nodes.size(); i += step) observed_.insert(nodes[i]);
    request_.set_selector(absl::StrJoin(observed_, ","));
  }

  absl::Status Look() {
    v1::ListNodesResponse response;
    grpc::ClientContext context;
    const grpc::Status status = nodes_->ListNodes(&context, request_, &response);
    if (!status.ok()) return absl::InternalError(status.error_message());
    const std::map<std::string, std::vector<absl::Time>> beats = swarm_.RecentBeats();
    for (const v1::Node& node : response.nodes()) {
      const auto sent = beats.find(node.name());
      if (sent == beats.end() || !node.connected()) continue;
      const absl::Time noted = ToTime(node.last_seen_at());
      const auto next = std::upper_bound(sent->second.begin(), sent->second.end(), noted);
      if (next != sent->second.begin())
        waits_.emplace(std::make_pair(node.name(), *std::prev(next)), noted - *std::prev(next));
    }
    return absl::OkStatus();
  }

  // Covers the heartbeats that were sent from `begin` to `end`.
  void Fill(absl::Time begin, absl::Time end, StormFigures& figures) const {
    for (const auto& [name, beats] : swarm_.RecentBeats()) {
      if (observed_.count(name) == 0) continue;
      for (const absl::Time beat : beats) {
        if (beat < begin || beat >= end) continue;
        const auto wait = waits_.find({name, beat});
        figures.unseen += wait == waits_.end();
        figures.heartbeats.push_back(wait == waits_.end() ? kInterval : wait->second);
      }
    }
    std::sort(figures.heartbeats.begin(), figures.heartbeats.end());
  }

 private:
  const std::unique_ptr<v1::NodeService::Stub> nodes_;
  const testing::AgentSwarm& swarm_;
  std::set<std::string> observed_;
  v1::ListNodesRequest request_;
  std::map<std::pair<std::string, absl::Time>, absl::Duration> waits_;
};

absl::StatusOr<Subject> FindSubject(const std::shared_ptr<grpc::Channel>& channel) {
  Subject subject;
  v1::ListNodesResponse nodes;
  grpc::ClientContext listing;
  grpc::Status status = v1::NodeService::NewStub(channel)->ListNodes(&listing, {}, &nodes);
  if (!status.ok()) return absl::InternalError(status.error_message());
  for (const v1::Node& node : nodes.nodes()) subject.nodes.push_back(node.name());
  v1::ListRunsResponse runs;
  grpc::ClientContext looking;
  status = v1::RunService::NewStub(channel)->ListRuns(&looking, {}, &runs);
  if (!status.ok()) return absl::InternalError(status.error_message());
  if (runs.runs().empty() || subject.nodes.empty())
    return absl::FailedPreconditionError("there is nothing to look at: no node, or no run");
  subject.run_id = runs.runs(0).run_id();
  return subject;
}

}  // namespace

double PercentileMs(const std::vector<absl::Duration>& sorted, double share) {
  const size_t place = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return absl::ToDoubleMilliseconds(sorted[std::min(place, sorted.size() - 1)]);
}

absl::StatusOr<StormFigures> Storm(const SwarmCluster& cluster, const testing::AgentSwarm& swarm,
                                   size_t viewers, absl::Duration duration) {
  ASSIGN_OR_RETURN(const auto looking, ConnectAs(cluster, controller::Role::kAdmin, "observer"));
  ASSIGN_OR_RETURN(const Subject subject, FindSubject(looking));
  std::vector<std::unique_ptr<Viewer>> all;
  for (size_t i = 0; i < viewers; ++i) {
    ASSIGN_OR_RETURN(const auto channel,
                     ConnectAs(cluster, controller::Role::kViewer, absl::StrCat("viewer", i)));
    all.push_back(std::make_unique<Viewer>(channel, subject, static_cast<unsigned>(i + 1)));
  }
  std::atomic<bool> is_over = false;
  std::atomic<uint64_t> answered = 0, refused = 0, failed = 0;
  std::vector<std::thread> threads;
  for (const std::unique_ptr<Viewer>& viewer : all) {
    threads.emplace_back([&, viewer = viewer.get()] {
      while (!is_over) {
        const grpc::Status status = viewer->Call();
        if (status.ok()) {
          ++answered;
        } else if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
          ++refused;
        } else {
          ++failed;
        }
      }
    });
  }
  Observer observer(looking, swarm, subject.nodes);
  const absl::Time begin = absl::Now();
  absl::Status seen;
  while (absl::Now() < begin + duration && seen.ok()) {
    seen = observer.Look();
    absl::SleepFor(kLookEvery);
  }
  const absl::Time end = absl::Now();
  // The last ones may still be on their way.
  while (absl::Now() < end + kInterval / 2 && seen.ok()) {
    seen = observer.Look();
    absl::SleepFor(kLookEvery);
  }
  is_over = true;
  for (std::thread& each : threads) each.join();
  RETURN_IF_ERROR(seen);
  StormFigures figures;
  observer.Fill(begin, end, figures);
  figures.answered = answered;
  figures.refused = refused;
  figures.failed = failed;
  if (figures.heartbeats.empty())
    return absl::InternalError("no heartbeat was sent during the storm");
  return figures;
}

}  // namespace muster::bench
