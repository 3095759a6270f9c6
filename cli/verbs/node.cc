// muster node: the machines of the cluster.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/bootstrap/bootstrap.h"
#include "cli/bootstrap/ssh_options.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/questions.h"
#include "cli/render/report/node_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/peer.h"
#include "common/value/proto_value.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

using NodeStub = v1::NodeService::Stub;

const char* NodeStateWord(v1::NodeState state) {
  switch (state) {
    case v1::NODE_STATE_KNOWN:
      return "known";
    case v1::NODE_STATE_PENDING:
      return "pending";
    case v1::NODE_STATE_ENROLLED:
      return "enrolled";
    case v1::NODE_STATE_CONFIGURED:
      return "configured";
    case v1::NODE_STATE_REMOVED:
      return "removed";
    case v1::NODE_STATE_IN_SERVICE:
      return "in service";
    case v1::NODE_STATE_QUARANTINED:
      return "quarantined";
    case v1::NODE_STATE_LOCKED:
      return "locked";
    default:
      return "?";
  }
}

std::string Connected(const v1::Node& node, absl::Time now) {
  if (node.connected()) return "yes";
  return node.has_last_seen_at()
             ? absl::StrCat("no, seen ", HumanTime(ToTime(node.last_seen_at()), now))
             : "no";
}

bool IsWaiting(const v1::Node& node) { return !node.enrollment_fingerprint().empty(); }

// The machines among `nodes` that wait for approval; "" when there are none.
std::string WaitingTable(const google::protobuf::RepeatedPtrField<v1::Node>& nodes,
                         absl::Time now) {
  // As many digits of a TPM as an image's name has.
  constexpr size_t kTpmDigits = 12;
  Table table({"NODE", "KEY", "TPM", "FROM", "SINCE", "SAYS"});
  bool any = false;
  for (const v1::Node& node : nodes) {
    if (!IsWaiting(node)) continue;
    any = true;
    const std::string tpm = node.enrollment_endorsement_key().substr(0, kTpmDigits);
    table.AddRow({node.name(), node.enrollment_fingerprint(), tpm.empty() ? "-" : tpm,
                  PeerAddress(node.enrollment_peer()),
                  HumanTime(ToTime(node.enrollment_requested_at()), now),
                  node.enrollment_description()});
  }
  return any ? table.ToString() : "";
}

absl::StatusOr<int> ListNodes(Context& context, const std::string& selector) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  NodeStub stub(connection->channel());
  v1::ListNodesRequest request;
  request.set_selector(selector);
  v1::ListNodesResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &NodeStub::ListNodes, request, &response));
  Show(context, response, [&] {
    Table table({"NODE", "ROLE", "STATE", "SERVICE", "CONNECTED", "RACK", "LAST RUN", "HARDWARE"});
    for (const v1::Node& node : response.nodes())
      table.AddRow({node.name(), node.role(), NodeStateWord(node.state()), node.service(),
                    Connected(node, context.clock->Now()), node.rack(), node.last_run_result(),
                    node.facts_refused().empty() ? node.summary() : "facts refused"});
    std::vector<std::pair<std::string, std::string>> reboots;
    for (const v1::Node& node : response.nodes()) {
      if (!node.reboot_pending().empty()) reboots.emplace_back(node.name(), node.reboot_pending());
    }
    const std::string waiting = WaitingTable(response.nodes(), context.clock->Now());
    const std::string pending = RenderPendingReboots(std::move(reboots));
    return absl::StrCat(
        table.ToString(), pending.empty() ? "" : "\n", pending,
        waiting.empty() ? "" : absl::StrCat("\nwaiting for `muster node approve`:\n", waiting));
  });
  return kExitClean;
}

absl::StatusOr<int> ShowNode(Context& context, const std::string& name) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  NodeStub stub(connection->channel());
  v1::GetNodeRequest request;
  request.set_name(name);
  v1::GetNodeResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &NodeStub::GetNode, request, &response));
  Show(context, response, [&] {
    const v1::Node& node = response.node();
    const absl::Time now = context.clock->Now();
    std::string text;
    const auto line = [&text](const char* key, const std::string& value) {
      if (!value.empty()) absl::StrAppend(&text, absl::StrFormat("%-12s", key), value, "\n");
    };
    line("node", node.name());
    line("uuid", node.uuid());
    line("role", node.role());
    line("groups", absl::StrJoin(node.groups(), ", "));
    line("rack", node.rack());
    line("address", node.address());
    line("state", NodeStateWord(node.state()));
    line("locked", node.locked_because());
    line("in Slurm", node.service());
    for (const v1::NodeHold& hold : node.holds()) line("held by", DescribeHold(hold, now));
    line("to reboot", node.reboot_pending());
    line("connected", Connected(node, now));
    line("from", PeerAddress(node.peer()));
    line("agent", node.agent_version());
    if (node.has_certificate_expires_at())
      line("certificate",
           absl::StrCat("expires ", HumanTime(ToTime(node.certificate_expires_at()), now)));
    line("TPM", node.endorsement_key());
    line("hardware", node.summary());
    if (!node.facts_refused().empty())
      line("distrusted", absl::StrCat(HumanTime(ToTime(node.facts_refused_at()), now), ": ",
                                      node.facts_refused()));
    line("last run", node.last_run_id().empty()
                         ? ""
                         : absl::StrCat(node.last_run_id(), ": ", node.last_run_result()));
    if (IsWaiting(node)) {
      line("waits from", PeerAddress(node.enrollment_peer()));
      line("with the key", node.enrollment_fingerprint());
      line("and the TPM", node.enrollment_endorsement_key());
    }
    line("says", node.enrollment_description());
    return text;
  });
  return kExitClean;
}

absl::StatusOr<int> Facts(Context& context, const std::string& name, bool refresh) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  NodeStub stub(connection->channel());
  v1::GetNodeFactsRequest request;
  request.set_name(name);
  request.set_refresh(refresh);
  v1::GetNodeFactsResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &NodeStub::GetNodeFacts, request, &response));
  std::cout << Format(ProtoToValue(response.facts()), context.output == OutputFormat::kJson
                                                          ? OutputFormat::kJson
                                                          : OutputFormat::kYaml);
  return kExitClean;
}

struct NodeApproveOptions {
  std::string nodes;
  std::string key;  // of the one node; empty: asks
  bool yes = false;
};

// Binds the approval to the keys of the machines that are waiting now; names without such a machine
// are left for the controller to refuse. Shows the keys, unless the caller knows them.
absl::Status CompareKeys(Context& context, Connection& connection,
                         const NodeApproveOptions& options, v1::ApproveNodeRequest& request) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(options.nodes));
  if (!options.key.empty()) {
    if (names.size() != 1) return absl::InvalidArgumentError("--key applies to one node only");
    (*request.mutable_fingerprints())[names[0]] = absl::AsciiStrToLower(options.key);
    return absl::OkStatus();
  }
  // Without a key that somebody has seen, the controller refuses where several machines wait.
  if (options.yes) return absl::OkStatus();
  NodeStub stub(connection.channel());
  v1::ListNodesResponse listed;
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::ListNodes, v1::ListNodesRequest(), &listed));
  const std::set<std::string> wanted(names.begin(), names.end());
  google::protobuf::RepeatedPtrField<v1::Node> waiting;
  for (v1::Node& node : *listed.mutable_nodes()) {
    if (!IsWaiting(node) || wanted.count(node.name()) == 0) continue;
    (*request.mutable_fingerprints())[node.name()] = node.enrollment_fingerprint();
    *waiting.Add() = std::move(node);
  }
  if (waiting.empty()) return absl::OkStatus();
  std::cerr << WaitingTable(waiting, context.clock->Now());
  return AskOrRefuse("Does the console of each machine show the same key?",
                     "no machine was approved; pass the key that you read there with --key KEY");
}

absl::StatusOr<int> ApproveNode(Context& context, const NodeApproveOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  NodeStub stub(connection->channel());
  v1::ApproveNodeRequest request;
  request.set_nodes(options.nodes);
  RETURN_IF_ERROR(CompareKeys(context, *connection, options, request));
  v1::ApproveNodeResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &NodeStub::ApproveNode, request, &response));
  Show(context, response, [&] {
    return absl::StrCat(
        "approved ", FoldHostlist({response.approved().begin(), response.approved().end()}), "\n");
  });
  return kExitClean;
}

absl::StatusOr<int> DrainNodes(Context& context, const std::string& nodes,
                               const std::string& reason) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  NodeStub stub(connection->channel());
  v1::DrainNodesRequest request;
  request.set_nodes(nodes);
  request.set_reason(reason);
  v1::DrainNodesResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &NodeStub::DrainNodes, request, &response));
  Show(context, response, [&] { return RenderDrained(response); });
  return kExitClean;
}

absl::StatusOr<int> ResumeNodes(Context& context, const std::string& nodes,
                                const std::string& reason) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  NodeStub stub(connection->channel());
  v1::ResumeNodesRequest request;
  request.set_nodes(nodes);
  request.set_reason(reason);
  v1::ResumeNodesResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &NodeStub::ResumeNodes, request, &response));
  Show(context, response, [&] { return RenderResumed(response, context.clock->Now()); });
  return kExitClean;
}

}  // namespace

void AddNode(CLI::App& app, Context& context) {
  CLI::App* node = app.add_subcommand(
      "node", "Machines: add, list, compare, bootstrap, approve, drain, reboot, remove, replace");
  node->require_subcommand(1);
  AddNodeAdd(*node, context);

  CLI::App* list = node->add_subcommand("list", "List all nodes, or the selected ones");
  auto selector = std::make_shared<std::string>();
  list->add_option("nodes", *selector, "Host list, groups, globs")->type_name("NODES");
  SetAction(list, context, [&context, selector] { return ListNodes(context, *selector); });

  CLI::App* show = node->add_subcommand("show", "One node");
  auto show_name = std::make_shared<std::string>();
  show->add_option("node", *show_name, "Its name in the inventory")->required()->type_name("NODE");
  SetAction(show, context, [&context, show_name] { return ShowNode(context, *show_name); });

  CLI::App* facts = node->add_subcommand("facts", "Show what a node's agent found out about it");
  auto facts_name = std::make_shared<std::string>();
  auto refresh = std::make_shared<bool>(false);
  facts->add_option("node", *facts_name, "Its name in the inventory")
      ->required()
      ->type_name("NODE");
  facts->add_flag("--refresh", *refresh, "Ask the agent now");
  SetAction(facts, context,
            [&context, facts_name, refresh] { return Facts(context, *facts_name, *refresh); });

  CLI::App* bootstrap = node->add_subcommand("bootstrap", "Install the agent over ssh and join");
  auto options = std::make_shared<BootstrapOptions>();
  bootstrap->add_option("--ssh", options->nodes, "Host list, groups, globs of the inventory")
      ->required()
      ->type_name("NODES");
  AddSshOptions(*bootstrap, *options);
  SetAction(bootstrap, context, [&context, options] { return Bootstrap(context, *options); });

  CLI::App* approve = node->add_subcommand("approve", "Approve waiting machines");
  auto approving = std::make_shared<NodeApproveOptions>();
  approve->add_option("nodes", approving->nodes, "Host list")->required()->type_name("HOSTLIST");
  approve
      ->add_option("--key", approving->key,
                   "The key that the machine's console shows; for one node only")
      ->type_name("KEY");
  approve->add_flag("-y,--yes", approving->yes, "Approve what is waiting, without asking");
  SetAction(approve, context, [&context, approving] { return ApproveNode(context, *approving); });

  auto held_nodes = std::make_shared<std::string>();
  auto reason = std::make_shared<std::string>();
  CLI::App* drain = node->add_subcommand(
      "drain", "Keep nodes out of Slurm until they are resumed; their jobs end by themselves");
  drain->add_option("nodes", *held_nodes, "Host list, groups, globs")
      ->required()
      ->type_name("NODES");
  drain->add_option("--reason", *reason, "Why; Slurm and `muster node list` show it")
      ->required()
      ->type_name("TEXT");
  SetAction(drain, context,
            [&context, held_nodes, reason] { return DrainNodes(context, *held_nodes, *reason); });

  CLI::App* resume = node->add_subcommand(
      "resume",
      "End what keeps nodes out: a drain, or an update that failed; those that passed serve again");
  resume->add_option("nodes", *held_nodes, "Host list, groups, globs")
      ->required()
      ->type_name("NODES");
  resume->add_option("--reason", *reason, "Why; goes into the audit log")->type_name("TEXT");
  resume->footer(
      "A node that its health has quarantined is resumed by administrators alone, and only when "
      "it\n"
      "is well again and has passed its test; `muster health NODES` says whether it has.");
  SetAction(resume, context,
            [&context, held_nodes, reason] { return ResumeNodes(context, *held_nodes, *reason); });

  AddNodeCompare(*node, context);
  AddNodeDiscover(*node, context);
  AddNodeReboot(*node, context);
  AddNodeRemove(*node, context);
  AddNodeReplace(*node, context);

  CLI::App* rename = node->add_subcommand("rename", "Refuses, and says what to do instead");
  auto names = std::make_shared<std::pair<std::string, std::string>>();
  rename->add_option("node", names->first, "Its name in the inventory")
      ->required()
      ->type_name("NODE");
  rename->add_option("name", names->second, "Another name")->required()->type_name("NAME");
  SetAction(rename, context, [names]() -> absl::StatusOr<int> {
    std::cerr << RenameInstead(names->first, names->second);
    return kExitRefused;
  });
}

}  // namespace muster::cli
