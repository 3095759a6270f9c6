#include "cli/node_change/node_removal.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/apply/duration_option.h"
#include "cli/connection.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

using NodeStub = v1::NodeService::Stub;

}  // namespace

absl::StatusOr<absl::Duration> DrainOptions::Timeout() const {
  if (drain_timeout.empty()) return absl::InfiniteDuration();
  return ParseDurationOption("--drain-timeout", drain_timeout, absl::Seconds(1), "30m or 4h");
}

void AddDrainOptions(CLI::App& command, DrainOptions& options) {
  command
      .add_option("--drain-timeout", options.drain_timeout,
                  "Give up, and leave the nodes drained, when their jobs take longer (default: "
                  "wait without end)")
      ->type_name("TIME");
  command.add_flag("--force", options.force, "Do not wait for jobs");
}

absl::StatusOr<std::vector<v1::Node>> KnownNodes(const Connection& connection,
                                                 const std::vector<std::string>& names) {
  NodeStub stub(connection.channel());
  v1::ListNodesResponse all;
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::ListNodes, v1::ListNodesRequest(), &all));
  std::vector<v1::Node> known;
  for (const v1::Node& node : all.nodes()) {
    if (std::find(names.begin(), names.end(), node.name()) != names.end()) known.push_back(node);
  }
  return known;
}

bool IsMember(const v1::Node& node) {
  return !node.uuid().empty() && node.state() != v1::NODE_STATE_REMOVED &&
         node.state() != v1::NODE_STATE_PENDING && node.state() != v1::NODE_STATE_KNOWN;
}

absl::Status AskAboutNodes(const Connection& connection, const std::string& question,
                           const std::vector<v1::Node>& nodes, JobsOnNodes fate,
                           absl::string_view otherwise) {
  NodeStub stub(connection.channel());
  v1::GetStatusResponse status;
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::GetStatus, v1::GetStatusRequest(), &status));
  std::vector<std::string> names;
  for (const v1::Node& node : nodes) names.push_back(node.name());
  v1::ListNodeJobsRequest request;
  request.set_nodes(FoldHostlist(names));
  v1::ListNodeJobsResponse jobs;
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::ListNodeJobs, request, &jobs));
  return AskOrRefuse(RemovalQuestion(question, status.cluster(), nodes, jobs, fate), otherwise);
}

absl::StatusOr<v1::RemoveNodeResponse> EndMembership(const Connection& connection,
                                                     const std::vector<std::string>& names,
                                                     const std::string& reason) {
  NodeStub stub(connection.channel());
  v1::RemoveNodeRequest request;
  request.set_nodes(FoldHostlist(names));
  request.set_reason(reason);
  v1::RemoveNodeResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::RemoveNode, request, &response));
  return response;
}

}  // namespace muster::cli
