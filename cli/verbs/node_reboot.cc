// muster node reboot: workers through a reboot and back into service, never under a job.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/apply/duration_option.h"
#include "cli/apply/rollout_start.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/render/questions.h"
#include "cli/render/run/drain_report.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/terminal.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/slurm_job.h"
#include "common/value/node_reboot.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

using NodeStub = v1::NodeService::Stub;

// Without --when-idle: for a job that starts between the look and the drain, and for the drain
// itself. A node that is not idle then is given back.
constexpr absl::Duration kIdleWithin = absl::Minutes(1);

struct NodeRebootOptions {
  std::string nodes, reason, suite, site = ".", drain_timeout, max_unavailable = "100%";
  uint32_t max_per_rack = 0, max_per_switch = 0;
  bool when_idle = false, yes = false, detach = false;
};

// The workers that are meant, by name.
absl::StatusOr<std::vector<std::string>> Workers(Connection& connection,
                                                 const std::string& selector) {
  NodeStub stub(connection.channel());
  v1::ListNodesRequest request;
  request.set_selector(selector);
  v1::ListNodesResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::ListNodes, request, &response));
  std::vector<std::string> names;
  std::vector<std::string> others;
  for (const v1::Node& node : response.nodes())
    (node.role() == "compute" ? names : others).push_back(node.name());
  if (!others.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(FoldHostlist(others),
                     ": not a worker. `node reboot` is for nodes that Slurm can do without;"
                     " reboot others by a playbook with a `reboot` step, or by hand"));
  }
  if (names.empty())
    return absl::InvalidArgumentError(absl::StrCat("'", selector, "' names no node"));
  return names;
}

// FailedPrecondition: jobs are in the way, or it is not known whether they are.
absl::Status RefuseJobs(Connection& connection, const std::vector<std::string>& names) {
  NodeStub stub(connection.channel());
  v1::ListNodeJobsRequest request;
  request.set_nodes(FoldHostlist(names));
  v1::ListNodeJobsResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::ListNodeJobs, request, &response));
  if (!response.unknown().empty())
    return absl::FailedPreconditionError(
        absl::StrCat("it is not known which jobs run: ", response.unknown()));
  const std::string jobs = DescribeWhere(JobsByNode(response));
  if (jobs.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(jobs, "; --when-idle drains the nodes and waits until their jobs have ended"));
}

absl::StatusOr<v1::CreateRolloutRequest> RequestOf(const NodeRebootOptions& options,
                                                   const std::vector<std::string>& names) {
  v1::CreateRolloutRequest request = NodeRebootRequest(FoldHostlist(names), options.reason);
  request.set_max_unavailable(options.max_unavailable);
  request.set_max_per_rack(options.max_per_rack);
  request.set_max_per_switch(options.max_per_switch);
  request.set_suite(options.suite);
  if (!options.when_idle) {
    *request.mutable_drain_timeout() = ToProtoDuration(kIdleWithin);
    request.set_on_timeout(v1::DRAIN_TIMEOUT_ACTION_SKIP);
  } else if (!options.drain_timeout.empty()) {
    ASSIGN_OR_RETURN(const absl::Duration timeout,
                     ParseDurationOption("--drain-timeout", options.drain_timeout, absl::Seconds(1),
                                         "4h or 2d"));
    *request.mutable_drain_timeout() = ToProtoDuration(timeout);
    request.set_on_timeout(v1::DRAIN_TIMEOUT_ACTION_SKIP);
  }
  return request;
}

absl::StatusOr<int> Reboot(Context& context, const NodeRebootOptions& options) {
  if (!options.yes) RETURN_IF_ERROR(RequireTerminal("name nodes that may reboot"));
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackReboot(options.suite.empty() ? "" : options.site));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Workers(*connection, options.nodes));
  if (!options.when_idle) RETURN_IF_ERROR(RefuseJobs(*connection, names));
  ASSIGN_OR_RETURN(v1::CreateRolloutRequest request, RequestOf(options, names));
  if (!options.yes)
    RETURN_IF_ERROR(AskOrRefuse(
        absl::StrCat("Reboot ", Counted(names.size(), "node"), ", ", FoldHostlist(names), "?"),
        "nothing was started"));
  RETURN_IF_ERROR(UploadBundle(*connection, bundle));
  request.set_bundle_sha256(bundle.sha256);
  return StartRollout(context, *connection, request, options.detach);
}

}  // namespace

void AddNodeReboot(CLI::App& node, Context& context) {
  CLI::App* command =
      node.add_subcommand("reboot", "Reboot workers that have no job, and give them back to Slurm");
  auto options = std::make_shared<NodeRebootOptions>();
  command->add_option("nodes", options->nodes, "Host list, groups, globs")
      ->required()
      ->type_name("NODES");
  CLI::Option* when_idle = command->add_flag("--when-idle", options->when_idle,
                                             "Wait until the jobs on them have ended");
  command
      ->add_option("--drain-timeout", options->drain_timeout,
                   "Give a node back whose jobs take longer (default: without a limit)")
      ->type_name("DURATION")
      ->needs(when_idle);
  command->add_option("--reason", options->reason, "Why; goes into the audit log")
      ->type_name("TEXT");
  command
      ->add_option("-s,--suite", options->suite,
                   "A suite that a node has to pass before it serves again (default: none)")
      ->type_name("SUITE");
  command->add_option("--site", options->site, "The site folder with the suite (default: .)")
      ->type_name("DIR");
  command
      ->add_option("--max-unavailable", options->max_unavailable,
                   "At most so many of them out of service at once (default: all)")
      ->type_name("COUNT|PERCENT");
  command
      ->add_option("--max-per-rack", options->max_per_rack,
                   "At most so many workers out in each rack, others included (default: no limit)")
      ->type_name("COUNT");
  command
      ->add_option("--max-per-switch", options->max_per_switch,
                   "The same behind each switch (default: no limit)")
      ->type_name("COUNT");
  command->add_flag("-y,--yes", options->yes, "Do not ask");
  command->add_flag("-d,--detach", options->detach, "Print the rollout's id and do not wait");
  command->footer(
      "A rollout that does nothing else: each node is drained, rebooted when it has no job, and\n"
      "given back to Slurm if it was in service before. `muster rollout` shows, pauses and ends "
      "it.\n"
      "Without --when-idle, jobs on the nodes are a reason to refuse, and are named.\n"
      "Exit codes: 0 every node is back, 1 usage or refused, 3 nodes failed or were skipped,\n"
      "130 detached.");
  SetAction(command, context, [&context, options] { return Reboot(context, *options); });
}

}  // namespace muster::cli
