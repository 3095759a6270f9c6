#include "cli/node_change/cluster_change.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/apply/run_options.h"
#include "cli/apply/run_start.h"
#include "cli/bootstrap/join_script.h"
#include "cli/connection.h"
#include "cli/inventory_folder/inventory_change.h"
#include "cli/render/show.h"
#include "cli/site/site_bundle.h"
#include "cli/site/site_words.h"
#include "cli/watch/bystanders.h"
#include "cli/watch/run_ending.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

// The tag of the tasks that tell a node the names and addresses of all others (roles/base,
// roles/boot_server).
constexpr char kNamesTag[] = "names";

// The nodes, and those whose configuration lists all nodes.
std::string LimitOf(const std::vector<std::string>& names) {
  return absl::StrCat(FoldHostlist(names), ",", kListingNodes);
}

// The id of a run in progress over what `request` is about, as an earlier call of the same command
// leaves one when it is cut off. "": there is none, or the controller does not tell.
std::string RunOfBefore(Connection& connection, const v1::CreateRunRequest& request) {
  v1::RunService::Stub stub(connection.channel());
  v1::ListRunsResponse response;
  if (!Call(connection, stub, &v1::RunService::Stub::ListRuns, v1::ListRunsRequest(), &response)
           .ok())
    return "";
  for (const v1::Run& run : response.runs()) {
    if (run.state() == v1::RUN_STATE_RUNNING && run.playbook() == request.playbook() &&
        run.limit() == request.limit() &&
        std::equal(run.tags().begin(), run.tags().end(), request.tags().begin(),
                   request.tags().end()))
      return run.run_id();
  }
  return "";
}

}  // namespace

std::string SiteOptions::InSite(const std::string& path) const {
  return (fs::path(site) / path).lexically_normal().string();
}

bool SiteOptions::HasNamesTag() const {
  const std::vector<std::string> tags = SiteTags(fs::path(playbook_path()).parent_path().string());
  return std::find(tags.begin(), tags.end(), kNamesTag) != tags.end();
}

void AddInventoryOptions(CLI::App& command, SiteOptions& options) {
  command.add_option("--site", options.site, "The site folder (default: this one)")
      ->type_name("DIR");
  command.add_option("--inventory", options.inventory, "In the site folder (default: inventory)")
      ->type_name("PATH");
  command.add_flag("--plan", options.plan, "Show the edit and the steps; change nothing");
  command.add_flag("-y,--yes", options.yes, "Do not ask");
}

void AddSiteOptions(CLI::App& command, SiteOptions& options) {
  AddInventoryOptions(command, options);
  command
      .add_option("--playbook", options.playbook,
                  "In the site folder (default: playbooks/site.yaml)")
      ->type_name("PLAYBOOK");
  command
      .add_option("-e,--extra-vars", options.extra_vars,
                  "name=value; overrides every other definition")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command.add_flag("-v,--verbose", options.verbose, "Also show steps that were ok or skipped");
}

std::string DescribeEdit(const InventoryChange& change) {
  return DescribeTexts(change.old_texts, change.new_texts);
}

std::string NumberSteps(const std::vector<std::string>& steps) {
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i)
    absl::StrAppend(&text, "  ", i + 1, ". ", steps[i], "\n");
  return text;
}

absl::StatusOr<int> RunPlaybook(Context& context, Connection& connection,
                                const SiteOptions& options, const PlaybookRun& of) {
  RunOptions run;
  run.limit = of.limit;
  run.extra_vars = options.extra_vars;
  if (!of.tag.empty()) run.tags = {of.tag};
  ASSIGN_OR_RETURN(v1::CreateRunRequest request, RequestFor(run));
  request.set_skip_validation(of.skip_validation || !of.tag.empty());
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSite(options.playbook_path()));
  RETURN_IF_ERROR(UploadBundle(connection, bundle));
  request.set_bundle_sha256(bundle.sha256);
  request.set_playbook(bundle.playbook);
  const bool is_for_others = !of.tag.empty();
  const IfBusy if_busy = is_for_others ? IfBusy::kLeaveOut
                         : options.yes ? IfBusy::kRefuse
                                       : IfBusy::kAsk;
  WatchOptions watch;
  watch.verbose = options.verbose;
  absl::StatusOr<v1::Run> started = StartRun(connection, request, if_busy);
  if (absl::IsFailedPrecondition(started.status())) {
    // Its inventory and variables may be others', so it takes the place of none of ours.
    if (const std::string before = RunOfBefore(connection, request); !before.empty()) {
      Words(context) << "waiting for run " << before << ", which works on these nodes" << std::endl;
      ASSIGN_OR_RETURN(const int code, WatchRunAndEndings(context, connection, before, watch));
      if (code == kExitDetached) return code;
      started = StartRun(connection, request, if_busy);
    }
  }
  RETURN_IF_ERROR(started.status());
  ASSIGN_OR_RETURN(const int code,
                   WatchRunAndEndings(context, connection, started->run_id(), watch));
  return ExitCodeWithLeftOut(code, *started);
}

absl::StatusOr<int> TellNames(Context& context, Connection& connection, const SiteOptions& options,
                              const std::set<std::string>& names) {
  v1::NodeService::Stub stub(connection.channel());
  v1::ListNodesRequest request;
  request.set_selector("compute");
  v1::ListNodesResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &v1::NodeService::Stub::ListNodes, request, &response));
  std::vector<std::string> others;
  for (const v1::Node& node : response.nodes())
    if (node.connected() && names.count(node.name()) == 0) others.push_back(node.name());
  if (others.empty()) return kExitClean;
  Words(context) << "\n== the names of all nodes, on " << FoldHostlist(others) << std::endl;
  ASSIGN_OR_RETURN(const int told,
                   RunPlaybook(context, connection, options, {FoldHostlist(others), kNamesTag}));
  if (told != kExitClean && told != kExitDetached)
    std::cerr << "not all of the other workers know the names of all nodes yet; the next `muster "
                 "apply "
              << options.playbook_path() << "` tells them\n";
  return told;
}

absl::StatusOr<int> TellLists(Context& context, Connection& connection,
                              const SiteOptions& options) {
  Words(context) << "\n== names and addresses of all nodes, on " << kListingNodes << std::endl;
  absl::StatusOr<int> told = RunPlaybook(context, connection, options, {kListingNodes, kNamesTag});
  if (!told.ok() || (*told != kExitClean && *told != kExitDetached))
    std::cerr << "the boot server may not know the addresses yet: `"
              << CommandThatTellsLists(options) << "`\n";
  return told;
}

std::string CommandThatTellsLists(const SiteOptions& options) {
  std::string command = absl::StrCat("muster apply ", options.playbook_path(), " --limit ",
                                     kListingNodes, " --tags ", kNamesTag);
  for (const std::string& assignment : options.extra_vars)
    absl::StrAppend(&command, " -e ", ShellQuote(assignment));
  return command;
}

absl::StatusOr<int> TakeIn(Context& context, Connection& connection, const SiteOptions& options,
                           const std::vector<std::string>& names, bool skip_validation) {
  if (options.HasNamesTag()) {
    ASSIGN_OR_RETURN(const int told,
                     TellNames(context, connection, options, {names.begin(), names.end()}));
    if (told == kExitDetached) return told;
  }
  const std::string limit = LimitOf(names);
  Words(context) << "\n== " << options.playbook_path() << " on " << limit << std::endl;
  return RunPlaybook(context, connection, options, {limit, /*tag=*/"", skip_validation});
}

std::vector<std::string> StepsOfTakingIn(const SiteOptions& options,
                                         const std::vector<std::string>& names,
                                         bool skip_validation) {
  std::vector<std::string> steps;
  if (options.HasNamesTag()) steps.push_back("tell the other workers the names of all nodes");
  steps.push_back(absl::StrCat("apply ", options.playbook_path(), " to ", LimitOf(names),
                               skip_validation ? "" : "; it ends with what validates them"));
  return steps;
}

absl::StatusOr<std::string> CompareBystanders(const Connection& connection,
                                              const std::set<std::string>& concerned,
                                              const Bystanders& before) {
  std::set<std::string> seen;
  for (const auto& [node, slurmd] : before.slurmds) seen.insert(node);
  ASSIGN_OR_RETURN(const Bystanders after, LookAtBystanders(connection, concerned, seen));
  return RenderBystanders(before, after);
}

}  // namespace muster::cli
