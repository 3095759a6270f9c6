// muster node add: machines into a running cluster, from the inventory to jobs.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/bootstrap/bootstrap.h"
#include "cli/bootstrap/ssh_options.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/inventory_edit/addresses.h"
#include "cli/inventory_folder/inventory_addition.h"
#include "cli/node_change/cluster_change.h"
#include "cli/node_change/unlike_nodes.h"
#include "cli/render/show.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/bystanders.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

struct NodeAddOptions {
  std::string nodes, like, address, addresses, bmc_address, rack;
  SiteOptions site;
  BootstrapOptions bootstrap;
  bool over_ssh = true, skip_validation = false, accept_hardware = false;
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

// What is going to happen, for --plan and before the question.
std::string Describe(const NodeAddOptions& options, const std::vector<std::string>& names,
                     const InventoryAddition& addition) {
  std::string text = DescribeEdit(addition);
  if (!addition.changes.empty()) {
    absl::StrAppend(&text, addition.like.empty() ? "" : absl::StrCat("like ", addition.like, ":\n"),
                    absl::StrJoin(addition.changes, "\n"), "\n");
  }
  if (!addition.present.empty())
    absl::StrAppend(&text, FoldHostlist(addition.present), ": in the inventory already\n");
  const std::string nodes = FoldHostlist(names);
  std::vector<std::string> steps;
  if (!addition.changes.empty())
    steps.push_back(absl::StrCat("write ", options.site.inventory_path(), " and apply it"));
  steps.push_back(
      absl::StrCat("install the agent on ", nodes, " over ssh, where it has not joined"));
  if (!options.accept_hardware)
    steps.push_back("compare the machines with their neighbors, and leave out what is unlike");
  for (std::string& step : StepsOfTakingIn(options.site, names, options.skip_validation))
    steps.push_back(std::move(step));
  return absl::StrCat(text, NumberSteps(steps));
}

std::string Finally(int code, const std::vector<std::string>& names) {
  const std::string nodes = FoldHostlist(names);
  return code == kExitClean
             ? absl::StrCat(nodes, ": added\n")
             : absl::StrCat(nodes,
                            ": not all of it succeeded; see above, then run the same command "
                            "again, which continues there\n");
}

// The nodes that go on: those that are machines like their neighbors. The others have joined and
// get nothing.
absl::StatusOr<std::vector<std::string>> LeaveOutUnlike(Context& context,
                                                        const Connection& connection,
                                                        const NodeAddOptions& options,
                                                        const std::vector<std::string>& names) {
  if (options.accept_hardware) return names;
  ASSIGN_OR_RETURN(const std::vector<UnlikeNode> unlike,
                   FindUnlikeNodes(context, connection, names, options.like));
  if (unlike.empty()) return names;
  std::set<std::string> left_out;
  for (const UnlikeNode& node : unlike) left_out.insert(node.name);
  Words(context) << "\n"
                 << DescribeUnlike(unlike) << FoldHostlist({left_out.begin(), left_out.end()})
                 << ": left out; look at the hardware, or pass --accept-hardware" << std::endl;
  std::vector<std::string> alike;
  for (const std::string& name : names) {
    if (left_out.count(name) == 0) alike.push_back(name);
  }
  return alike;
}

absl::StatusOr<int> NodeAdd(Context& context, const NodeAddOptions& options) {
  ASSIGN_OR_RETURN(const NodeAddition wanted, AdditionOf(options));
  const std::vector<std::string> names = wanted.names;
  const std::set<std::string> concerned(names.begin(), names.end());
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RETURN_IF_ERROR(PackSite(options.site.playbook_path()).status());
  ASSIGN_OR_RETURN(const InventoryAddition addition,
                   PrepareAddition(*connection, options.site.inventory_path(), wanted));
  Words(context) << Describe(options, names, addition) << std::flush;
  if (options.site.plan) return kExitClean;
  if (!options.site.yes)
    RETURN_IF_ERROR(AskOrRefuse(absl::StrCat("Add ", Counted(names.size(), "node"), ", ",
                                             FoldHostlist(names), ", to the cluster?"),
                                "nothing was changed"));

  ASSIGN_OR_RETURN(const Bystanders before, LookAtBystanders(*connection, concerned));
  if (!addition.changes.empty()) {
    ASSIGN_OR_RETURN(const uint64_t revision,
                     CarryOut(*connection, options.site.inventory_path(), addition));
    Words(context) << "inventory is at revision " << revision << std::endl;
  }
  BootstrapOptions bootstrap = options.bootstrap;
  bootstrap.nodes = FoldHostlist(names);
  ASSIGN_OR_RETURN(const int joined, Bootstrap(context, bootstrap));
  if (joined != kExitClean) return joined;
  ASSIGN_OR_RETURN(const std::vector<std::string> alike,
                   LeaveOutUnlike(context, *connection, options, names));
  int code = alike.size() == names.size() ? kExitClean : kExitFailed;
  if (!alike.empty()) {
    ASSIGN_OR_RETURN(const int taken,
                     TakeIn(context, *connection, options.site, alike, options.skip_validation));
    if (taken == kExitDetached) return taken;
    if (taken != kExitClean) code = taken;
  }
  ASSIGN_OR_RETURN(const std::string comparison, CompareBystanders(*connection, concerned, before));
  Words(context) << "\n" << comparison << Finally(code, names) << std::flush;
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
  AddSiteOptions(*add, options->site);
  add->add_flag("--ssh", options->over_ssh, "Install the agent over ssh (default)");
  AddSshOptions(*add, options->bootstrap);
  add->add_flag("--accept-hardware", options->accept_hardware,
                "Add machines that are unlike their neighbors, too");
  add->add_flag("--skip-validation", options->skip_validation, "Skip the plays with `validate`");
  add->footer(
      "The same command again continues where it stopped. Exit codes: those of muster apply.");
  SetAction(add, context, [&context, options] { return NodeAdd(context, *options); });
}

}  // namespace muster::cli
