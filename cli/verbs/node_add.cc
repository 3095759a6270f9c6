// muster node add: machines into a running cluster, from the inventory to jobs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/apply/inventory_addition.h"
#include "cli/apply/run_options.h"
#include "cli/apply/run_start.h"
#include "cli/apply/site_bundle.h"
#include "cli/apply/site_words.h"
#include "cli/bootstrap/bootstrap.h"
#include "cli/bootstrap/ssh_options.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/inventory_edit/addresses.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/bystanders.h"
#include "cli/watch/run_ending.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/text_diff.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

// The tag of the task that tells a node the names of all others (roles/base).
constexpr char kNamesTag[] = "names";

struct NodeAddOptions {
  std::string nodes, like, address, addresses, bmc_address, rack;
  std::string site = ".", inventory = "inventory", playbook = "playbooks/site.yaml";
  BootstrapOptions bootstrap;
  std::vector<std::string> extra_vars;
  bool over_ssh = true, plan = false, yes = false, skip_validation = false, verbose = false;

  std::string inventory_path() const { return InSite(inventory); }
  std::string playbook_path() const { return InSite(playbook); }
  std::string InSite(const std::string& path) const {
    return (fs::path(site) / path).lexically_normal().string();
  }
};

absl::StatusOr<NodeAddition> AdditionOf(const NodeAddOptions& options) {
  NodeAddition addition;
  ASSIGN_OR_RETURN(addition.names, ExpandHostlist(options.nodes));
  if (!options.address.empty() && !options.addresses.empty())
    return absl::InvalidArgumentError("pass --address or --addresses, not both");
  ASSIGN_OR_RETURN(addition.addresses,
                   ReadAddresses(addition.names, absl::StrCat(options.address, options.addresses)));
  ASSIGN_OR_RETURN(addition.bmc_addresses, ReadAddresses(addition.names, options.bmc_address));
  addition.like = options.like;
  addition.rack = options.rack;
  return addition;
}

// The new nodes, and those whose configuration lists all nodes: slurmctld's, and the servers of
// files, packages, time and metrics, which are login and storage nodes.
std::string LimitOf(const std::vector<std::string>& names) {
  return absl::StrCat(FoldHostlist(names), ",login,storage");
}

bool HasNamesTag(const NodeAddOptions& options) {
  const std::vector<std::string> tags =
      SiteTags(fs::path(options.playbook_path()).parent_path().string());
  return std::find(tags.begin(), tags.end(), kNamesTag) != tags.end();
}

// Where words for people go: with -o json the output has the events of the runs alone.
std::ostream& Words(const Context& context) {
  return context.output == OutputFormat::kTable ? std::cout : std::cerr;
}

// What is going to happen, for --plan and before the question.
std::string Describe(const NodeAddOptions& options, const std::vector<std::string>& names,
                     const InventoryAddition& addition, bool with_names) {
  std::string text;
  for (const auto& [path, edited] : addition.new_texts)
    absl::StrAppend(&text, UnifiedDiff(addition.old_texts.at(path), edited, path));
  if (!addition.changes.empty()) {
    absl::StrAppend(&text, addition.like.empty() ? "" : absl::StrCat("like ", addition.like, ":\n"),
                    absl::StrJoin(addition.changes, "\n"), "\n");
  }
  if (!addition.present.empty())
    absl::StrAppend(&text, FoldHostlist(addition.present), ": in the inventory already\n");
  const std::string nodes = FoldHostlist(names);
  std::vector<std::string> steps;
  if (!addition.changes.empty())
    steps.push_back(absl::StrCat("write ", options.inventory_path(), " and apply it"));
  steps.push_back(
      absl::StrCat("install the agent on ", nodes, " over ssh, where it has not joined"));
  if (with_names) steps.push_back("tell the other workers the names of all nodes");
  steps.push_back(
      absl::StrCat("apply ", options.playbook_path(), " to ", LimitOf(names),
                   options.skip_validation ? "" : "; it ends with what validates them"));
  for (size_t i = 0; i < steps.size(); ++i)
    absl::StrAppend(&text, "  ", i + 1, ". ", steps[i], "\n");
  return text;
}

// Runs the playbook on `limit`; with `tag`, only that part of it, quietly.
absl::StatusOr<int> RunPlaybook(Context& context, Connection& connection,
                                const NodeAddOptions& options, const std::string& limit,
                                const std::string& tag) {
  RunOptions run;
  run.limit = limit;
  run.extra_vars = options.extra_vars;
  if (!tag.empty()) run.tags = {tag};
  ASSIGN_OR_RETURN(v1::CreateRunRequest request, RequestFor(run));
  request.set_skip_validation(options.skip_validation || !tag.empty());
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSite(options.playbook_path()));
  RETURN_IF_ERROR(UploadBundle(connection, bundle));
  request.set_bundle_sha256(bundle.sha256);
  request.set_playbook(bundle.playbook);
  const bool is_for_others = !tag.empty();
  ASSIGN_OR_RETURN(const v1::Run started, StartRun(connection, request,
                                                   is_for_others ? IfBusy::kLeaveOut
                                                   : options.yes ? IfBusy::kRefuse
                                                                 : IfBusy::kAsk));
  WatchOptions watch;
  watch.verbose = options.verbose;
  ASSIGN_OR_RETURN(const int code,
                   WatchRunAndEndings(context, connection, started.run_id(), watch));
  return ExitCodeWithLeftOut(code, started);
}

// Puts the names of the new nodes into /etc/hosts of the other workers, before Slurm can give both
// to one job. Who is away or busy gets them by the next apply, and holds up nobody.
absl::StatusOr<int> TellNames(Context& context, Connection& connection,
                              const NodeAddOptions& options, const std::set<std::string>& names) {
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
  return RunPlaybook(context, connection, options, FoldHostlist(others), kNamesTag);
}

std::string Finally(int code, const std::vector<std::string>& names, const Bystanders& before,
                    const Bystanders& after) {
  const std::string nodes = FoldHostlist(names);
  return absl::StrCat(
      "\n", RenderBystanders(before, after),
      code == kExitClean
          ? absl::StrCat(nodes, ": added\n")
          : absl::StrCat(nodes,
                         ": not all of it succeeded; see above, then run the same command "
                         "again, which continues there\n"));
}

absl::StatusOr<int> NodeAdd(Context& context, const NodeAddOptions& options) {
  ASSIGN_OR_RETURN(const NodeAddition wanted, AdditionOf(options));
  const std::vector<std::string> names = wanted.names;
  const std::set<std::string> concerned(names.begin(), names.end());
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RETURN_IF_ERROR(PackSite(options.playbook_path()).status());
  ASSIGN_OR_RETURN(const InventoryAddition addition,
                   PrepareAddition(*connection, options.inventory_path(), wanted));
  const bool with_names = HasNamesTag(options);
  Words(context) << Describe(options, names, addition, with_names) << std::flush;
  if (options.plan) return kExitClean;
  if (!options.yes)
    RETURN_IF_ERROR(AskOrRefuse(absl::StrCat("Add ", Counted(names.size(), "node"), ", ",
                                             FoldHostlist(names), ", to the cluster?"),
                                "nothing was changed"));

  ASSIGN_OR_RETURN(const Bystanders before, LookAtBystanders(*connection, concerned));
  if (!addition.changes.empty()) {
    ASSIGN_OR_RETURN(const uint64_t revision,
                     CarryOutAddition(*connection, options.inventory_path(), addition));
    Words(context) << "inventory is at revision " << revision << std::endl;
  }
  BootstrapOptions bootstrap = options.bootstrap;
  bootstrap.nodes = FoldHostlist(names);
  ASSIGN_OR_RETURN(const int joined, Bootstrap(context, bootstrap));
  if (joined != kExitClean) return joined;
  if (with_names) {
    ASSIGN_OR_RETURN(const int told, TellNames(context, *connection, options, concerned));
    if (told == kExitDetached) return told;
    if (told != kExitClean)
      std::cerr << "not all of the other workers know the new names yet; the next `muster apply "
                << options.playbook_path() << "` tells them\n";
  }
  Words(context) << "\n== " << options.playbook_path() << " on " << LimitOf(names) << std::endl;
  ASSIGN_OR_RETURN(const int code,
                   RunPlaybook(context, *connection, options, LimitOf(names), /*tag=*/""));
  if (code == kExitDetached) return code;
  std::set<std::string> seen;
  for (const auto& [node, slurmd] : before.slurmds) seen.insert(node);
  ASSIGN_OR_RETURN(const Bystanders after, LookAtBystanders(*connection, concerned, seen));
  Words(context) << Finally(code, names, before, after) << std::flush;
  return code;
}

}  // namespace

void AddNodeAdd(CLI::App& node, Context& context) {
  CLI::App* add = node.add_subcommand("add", "Add machines to the running cluster");
  auto options = std::make_shared<NodeAddOptions>();
  add->add_option("nodes", options->nodes, "Host list of the new nodes")
      ->required()
      ->type_name("HOSTLIST");
  add->add_option("--like", options->like,
                  "Node whose role, groups, rack and partitions they get (default: the nearest by "
                  "its number)")
      ->type_name("NODE");
  add->add_option("--address", options->address,
                  "Address, or a range of them in the order of the nodes: 10.0.0.[17-18]")
      ->type_name("ADDRESS");
  add->add_option("--addresses", options->addresses, "c017=10.0.0.17,c018=10.0.0.18")
      ->type_name("NODE=ADDRESS,…");
  add->add_option("--bmc-address", options->bmc_address,
                  "Address of the management controller, in either form")
      ->type_name("ADDRESS");
  add->add_option("--rack", options->rack, "Rack, if not that of the node that they are like")
      ->type_name("RACK");
  add->add_option("--site", options->site, "The site folder (default: this one)")->type_name("DIR");
  add->add_option("--inventory", options->inventory, "In the site folder (default: inventory)")
      ->type_name("PATH");
  add->add_option("--playbook", options->playbook,
                  "In the site folder (default: playbooks/site.yaml)")
      ->type_name("PLAYBOOK");
  add->add_flag("--ssh", options->over_ssh, "Install the agent over ssh (default)");
  AddSshOptions(*add, options->bootstrap);
  add->add_option("-e,--extra-vars", options->extra_vars,
                  "name=value; overrides every other definition")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  add->add_flag("--skip-validation", options->skip_validation, "Skip the plays with `validate`");
  add->add_flag("-v,--verbose", options->verbose, "Also show steps that were ok or skipped");
  add->add_flag("--plan", options->plan, "Show the edit and the steps; change nothing");
  add->add_flag("-y,--yes", options->yes, "Do not ask");
  add->footer(
      "The same command again continues where it stopped. Exit codes: those of muster apply.");
  SetAction(add, context, [&context, options] { return NodeAdd(context, *options); });
}

}  // namespace muster::cli
