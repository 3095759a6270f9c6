// muster node discover: machines that boot, tell of themselves and wait to become nodes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/inventory_edit/addresses.h"
#include "cli/inventory_folder/inventory_addition.h"
#include "cli/node_change/adoption.h"
#include "cli/node_change/cluster_change.h"
#include "cli/render/report/discovery_report.h"
#include "cli/render/show.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/boot.grpc.pb.h"

namespace muster::cli {
namespace {

using BootStub = v1::BootService::Stub;

struct AdoptOptions {
  std::string nodes, by = "power-on", like, address, bmc_address, rack;
  MachineChoice choice;
  SiteOptions site;
};

absl::StatusOr<v1::ListUnknownMachinesResponse> ReadUnknown(const Connection& connection) {
  BootStub stub(connection.channel());
  v1::ListUnknownMachinesResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &BootStub::ListUnknownMachines,
                       v1::ListUnknownMachinesRequest(), &response));
  return response;
}

absl::StatusOr<int> ListThem(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::ListUnknownMachinesResponse response, ReadUnknown(*connection));
  Show(context, response, [&] { return RenderDiscovered(response); });
  return kExitClean;
}

absl::StatusOr<NodeAddition> AdditionOf(const AdoptOptions& options,
                                        const std::vector<std::string>& names,
                                        const std::vector<Adoption>& adoptions) {
  NodeAddition addition;
  addition.names = names;
  ASSIGN_OR_RETURN(addition.addresses, ReadAddresses(names, options.address));
  ASSIGN_OR_RETURN(addition.bmc_addresses, ReadAddresses(names, options.bmc_address));
  for (const Adoption& each : adoptions) addition.macs[each.name] = each.macs;
  addition.like = options.like;
  addition.rack = options.rack;
  return addition;
}

// Entries that somebody wrote before may say something else of the nodes.
absl::Status CheckAdopted(const Connection& connection, const std::string& nodes,
                          const std::vector<Adoption>& adoptions) {
  BootStub stub(connection.channel());
  v1::ListBootsRequest request;
  request.set_nodes(nodes);
  v1::ListBootsResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &BootStub::ListBoots, request, &response));
  for (const Adoption& each : adoptions) {
    const std::string& mac = each.macs.front();
    const auto has_it = [&](const v1::NodeBoot& node) {
      return node.node() == each.name &&
             std::find(node.macs().begin(), node.macs().end(), mac) != node.macs().end();
    };
    if (std::none_of(response.nodes().begin(), response.nodes().end(), has_it))
      return absl::FailedPreconditionError(
          absl::StrCat("the inventory's files had an entry of ", each.name,
                       " before, which is in force now and does not have the MAC address ", mac,
                       ": add it by `muster inventory edit`"));
  }
  return absl::OkStatus();
}

std::string Describe(const AdoptOptions& options, const std::string& nodes,
                     const InventoryAddition& addition) {
  return absl::StrCat(
      DescribeEdit(addition),
      addition.like.empty() ? "" : absl::StrCat("like ", addition.like, ":\n"),
      absl::StrJoin(addition.changes, "\n"), "\n",
      NumberSteps(
          {absl::StrCat("write ", options.site.inventory_path(), " and apply it"),
           options.site.HasNamesTag()
               ? absl::StrCat("apply the tag names of ", options.site.playbook_path(), " to ",
                              kListingNodes,
                              ", so that the boot server gives these addresses; enter MAC and "
                              "address in a DHCP server of your own")
               : "apply the role boot_server at once, or enter MAC and address in a DHCP server of "
                 "your own",
           "the machines reboot within half a minute, into what the inventory says",
           absl::StrCat("then `muster node add ", nodes, "` takes them into the cluster")}));
}

absl::StatusOr<int> Adopt(Context& context, const AdoptOptions& options) {
  MachineChoice choice = options.choice;
  ASSIGN_OR_RETURN(choice.order, ParseAdoptionOrder(options.by));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(options.nodes));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::ListUnknownMachinesResponse unknown, ReadUnknown(*connection));
  ASSIGN_OR_RETURN(const std::vector<Adoption> adoptions, MatchMachines(names, unknown, choice));
  ASSIGN_OR_RETURN(NodeAddition wanted, AdditionOf(options, names, adoptions));
  const std::map<std::string, std::string> addresses = wanted.addresses;
  ASSIGN_OR_RETURN(const InventoryAddition addition,
                   PrepareAddition(*connection, options.site.inventory_path(), std::move(wanted)));
  if (!addition.present.empty())
    return absl::AlreadyExistsError(absl::StrCat(
        FoldHostlist(addition.present),
        ": in the inventory already: adopted before, or nodes of other machines, which "
        "get another MAC address by `muster inventory edit`"));
  const bool tells = options.site.HasNamesTag();
  if (tells) RETURN_IF_ERROR(PackSite(options.site.playbook_path()).status());
  const std::string nodes = FoldHostlist(names);
  Words(context) << RenderAdoptions(adoptions, addresses) << Describe(options, nodes, addition)
                 << std::flush;
  if (options.site.plan) return kExitClean;
  if (!options.site.yes)
    RETURN_IF_ERROR(
        AskOrRefuse(absl::StrCat("Adopt ", Counted(names.size(), "machine"), " as ", nodes, "?"),
                    "nothing was changed"));
  ASSIGN_OR_RETURN(const uint64_t revision,
                   CarryOut(*connection, options.site.inventory_path(), addition));
  Words(context) << "inventory is at revision " << revision << std::endl;
  RETURN_IF_ERROR(CheckAdopted(*connection, nodes, adoptions));
  Words(context) << nodes << ": adopted; `muster boot show " << nodes << "` shows their boots"
                 << std::endl;
  if (!tells) return kExitClean;
  return TellLists(context, *connection, options.site);
}

void AddAdopt(CLI::App& discover, Context& context) {
  CLI::App* adopt =
      discover.add_subcommand("adopt", "Make nodes of machines that wait, in the inventory");
  auto options = std::make_shared<AdoptOptions>();
  adopt->add_option("nodes", options->nodes, "Host list of the new nodes, as many as machines wait")
      ->required()
      ->type_name("HOSTLIST");
  CLI::Option* by =
      adopt
          ->add_option("--by", options->by,
                       "Order of the machines: power-on (default), mac, serial, or port: that of\n"
                       "the switch by which they boot, as LLDP tells it")
          ->type_name("ORDER");
  CLI::Option* at_switch = adopt
                               ->add_option("--switch", options->choice.at_switch,
                                            "Only those at this switch, by its name in LLDP")
                               ->type_name("NAME");
  adopt
      ->add_option("--machines", options->choice.macs,
                   "Only these, by their MAC addresses, in this order")
      ->delimiter(',')
      ->type_name("MAC,…")
      ->excludes(by)
      ->excludes(at_switch);
  adopt
      ->add_option("--like", options->like,
                   "Node whose role, groups, rack and partitions they get (default: the nearest "
                   "by its number)")
      ->type_name("NODE");
  adopt
      ->add_option("--address", options->address,
                   "Address, or a range of them in the order of the nodes: 10.0.0.[17-18]")
      ->type_name("ADDRESS");
  adopt
      ->add_option("--bmc-address", options->bmc_address,
                   "Address of the management controller, in either form")
      ->type_name("ADDRESS");
  adopt->add_option("--rack", options->rack, "Rack, if not that of the node that they are like")
      ->type_name("RACK");
  AddSiteOptions(*adopt, options->site);
  adopt->footer(
      "Switch machines on one after the other, and their names follow. The nodes get an entry of\n"
      "their own in the inventory, like that of their neighbor, with the MAC addresses of all\n"
      "Ethernet ports, the one by which the machine has booted and the others by its own word. A\n"
      "machine that says that it has a port of a node is left out.\n"
      "The boot server learns their addresses by the tag `names` of the playbook. Exit codes:\n"
      "those of muster apply.");
  SetAction(adopt, context, [&context, options] { return Adopt(context, *options); });
}

}  // namespace

void AddNodeDiscover(CLI::App& node, Context& context) {
  CLI::App* discover = node.add_subcommand(
      "discover", "Machines that boot from the network and that the inventory does not have");
  discover->require_subcommand(1);
  CLI::App* list = discover->add_subcommand(
      "list", "What they are, in the order in which they were switched on");
  list->footer(
      "At most 256, those that asked last. They say what they are where the inventory has\n"
      "`boot_unknown`; nothing proves what they say.");
  SetAction(list, context, [&context] { return ListThem(context); });
  AddAdopt(*discover, context);
}

}  // namespace muster::cli
