// muster controller: the program of the controller itself.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/absolute_path.h"
#include "cli/apply/controller_release.h"
#include "cli/apply/run_start.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/render/plain_text.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/patience.h"
#include "cli/watch/run_watcher.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {
namespace {

// Longer than an exchange takes that waits for apt, then for a musterd that never answers, and is
// taken back.
constexpr absl::Duration kExchangeTime = absl::Minutes(15);

struct ControllerUpdateOptions {
  std::vector<std::string> packages;
  std::string node;
  bool allow_downgrade = false, yes = false, detach = false;
};

// The controller's answer, also from one that is just being exchanged.
template <typename Stub, typename Request, typename Response>
absl::Status AskPatiently(Context& context, Connection& connection,
                          grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                       Response*),
                          const Request& request, Response* response) {
  Patience patience(
      *context.clock, [&] { connection.Renew(); },
      [](absl::string_view text) { std::cerr << text << std::flush; }, kExchangeTime);
  while (true) {
    Stub stub(connection.channel());
    const absl::Status status = Call(connection, stub, method, request, response);
    if (status.ok()) return status;
    RETURN_IF_ERROR(patience.Await(status));
  }
}

absl::StatusOr<v1::GetStatusResponse> AskStatus(Context& context, Connection& connection) {
  v1::GetStatusResponse status;
  RETURN_IF_ERROR(AskPatiently(context, connection, &v1::NodeService::Stub::GetStatus,
                               v1::GetStatusRequest(), &status));
  return status;
}

absl::StatusOr<v1::ListNodesResponse> AskNodes(Context& context, Connection& connection) {
  v1::ListNodesResponse nodes;
  RETURN_IF_ERROR(AskPatiently(context, connection, &v1::NodeService::Stub::ListNodes,
                               v1::ListNodesRequest(), &nodes));
  return nodes;
}

// The id of an exchange in progress, as an earlier call of the command leaves one when it is cut
// off; "": there is none.
absl::StatusOr<std::string> ExchangeInProgress(Context& context, Connection& connection) {
  v1::ListRunsResponse response;
  RETURN_IF_ERROR(AskPatiently(context, connection, &v1::RunService::Stub::ListRuns,
                               v1::ListRunsRequest(), &response));
  for (const v1::Run& run : response.runs()) {
    if (run.state() == v1::RUN_STATE_RUNNING && run.playbook() == kControllerUpdatePath)
      return run.run_id();
  }
  return std::string();
}

absl::StatusOr<SiteBundle> PackRelease(const ControllerRelease& release, bool allow_downgrade) {
  sys::RealFileSystem files;
  std::string cli;
  ASSIGN_OR_RETURN(std::string controller, files.Read(AbsolutePath(release.controller_package)));
  if (!release.cli_package.empty()) {
    ASSIGN_OR_RETURN(cli, files.Read(AbsolutePath(release.cli_package)));
  }
  return PackFiles(
      UpdateBundle(release.version, std::move(controller), std::move(cli), allow_downgrade));
}

// The id of the run that exchanges musterd; "": there is nothing to do.
absl::StatusOr<std::string> Begin(Context& context, Connection& connection,
                                  const ControllerUpdateOptions& options,
                                  const ControllerRelease& release) {
  ASSIGN_OR_RETURN(const v1::GetStatusResponse status, AskStatus(context, connection));
  if (status.controller_version() == release.version) return std::string();
  sys::RealProcessRunner processes;
  ASSIGN_OR_RETURN(const bool is_older,
                   IsOlder(release.version, status.controller_version(), processes));
  if (is_older && !options.allow_downgrade)
    return absl::FailedPreconditionError(absl::StrCat(
        release.version, " is older than ", status.controller_version(),
        ", which runs; an older musterd refuses a newer store. --allow-downgrade tries it"));
  std::string node = options.node;
  if (node.empty()) {
    ASSIGN_OR_RETURN(const v1::ListNodesResponse nodes, AskNodes(context, connection));
    node = ControllerNode(connection.address(), nodes);
    if (node.empty())
      return absl::FailedPreconditionError(absl::StrCat(
          "no node has the controller's address, ", connection.address(),
          ": name the node where musterd runs by --node. Where its machine is no node, exchange "
          "the package by hand (muster help operations)"));
  }
  if (!options.yes)
    RETURN_IF_ERROR(AskOrRefuse(
        absl::StrCat("Exchange musterd ", status.controller_version(), " of cluster ",
                     Tame(status.cluster()), ", on ", node, ", for ", release.version, "?"),
        "nothing was started"));
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackRelease(release, options.allow_downgrade));
  RETURN_IF_ERROR(UploadBundle(connection, bundle));
  v1::CreateRunRequest request;
  request.set_bundle_sha256(bundle.sha256);
  request.set_playbook(std::string(kControllerUpdatePath));
  request.set_limit(node);
  ASSIGN_OR_RETURN(const v1::Run run, StartRun(connection, request, IfBusy::kRefuse));
  return run.run_id();
}

void PrintNext(const v1::ListNodesResponse& nodes, const std::string& version) {
  size_t behind = 0;
  for (const v1::Node& node : nodes.nodes())
    behind += !node.agent_version().empty() && node.agent_version() != version;
  std::cout << "musterd " << version << " runs.\n";
  if (behind > 0)
    std::cout << "Next: `muster update PLAYBOOK` or `muster apply PLAYBOOK --tags agent` brings "
              << Counted(behind, "agent") << " to it.\n";
}

absl::StatusOr<int> ControllerUpdate(Context& context, const ControllerUpdateOptions& options) {
  if (!options.yes) RETURN_IF_ERROR(RequireTerminal("to answer the question in advance"));
  sys::RealProcessRunner processes;
  ASSIGN_OR_RETURN(const ControllerRelease release, ReadRelease(options.packages, processes));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(std::string run_id, ExchangeInProgress(context, *connection));
  if (!run_id.empty()) {
    std::cerr << "An exchange is in progress: " << run_id << "\n" << std::flush;
  } else {
    ASSIGN_OR_RETURN(run_id, Begin(context, *connection, options, release));
  }
  if (!run_id.empty()) {
    if (options.detach) {
      std::cout << run_id << "\n";
      return kExitClean;
    }
    WatchOptions watch;
    watch.patience = kExchangeTime;
    ASSIGN_OR_RETURN(const int code, WatchRun(context, *connection, run_id, watch));
    if (code != kExitClean) return code;
  }
  if (context.output != OutputFormat::kTable) return kExitClean;
  ASSIGN_OR_RETURN(const v1::GetStatusResponse status, AskStatus(context, *connection));
  ASSIGN_OR_RETURN(const v1::ListNodesResponse nodes, AskNodes(context, *connection));
  PrintNext(nodes, status.controller_version());
  return kExitClean;
}

void AddControllerUpdate(CLI::App& controller, Context& context) {
  CLI::App* command = controller.add_subcommand(
      "update", "Exchange musterd for another version, and take it back if that does not come up");
  auto options = std::make_shared<ControllerUpdateOptions>();
  command
      ->add_option("packages", options->packages,
                   "Packages of the release, or folders with them: muster-controller, muster-cli")
      ->required()
      ->type_name("FOLDER|FILE");
  command
      ->add_option("--node", options->node,
                   "The node where musterd runs (default: the one with the controller's address)")
      ->type_name("NODE");
  command->add_flag("--allow-downgrade", options->allow_downgrade,
                    "Try an older version; it is taken back if it cannot read the store");
  command->add_flag("-y,--yes", options->yes, "Do not ask");
  command->add_flag("-d,--detach", options->detach, "Print the run's id and do not wait");
  command->footer(
      "The agent on the controller's own node does it: musterd stops, its store is copied, the\n"
      "packages are installed, and the new musterd has three minutes to welcome that agent.\n"
      "Until then it accepts nothing else. Otherwise the files of before and the store are put\n"
      "back. Runs and rollouts continue afterwards. The same command again continues to watch.\n"
      "Exit codes: 0 that version runs, 1 usage or refused, 3 the version of before is back,\n"
      "4 the agent of that node is away, 130 detached.");
  SetAction(command, context, [&context, options] { return ControllerUpdate(context, *options); });
}

}  // namespace

void AddController(CLI::App& app, Context& context) {
  CLI::App* controller = app.add_subcommand("controller", "The program of the controller itself");
  controller->require_subcommand(1);
  AddControllerUpdate(*controller, context);
}

}  // namespace muster::cli
