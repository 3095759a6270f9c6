// muster power: machines on and off, by their BMCs.
#include <CLI/CLI.hpp>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/render/plain_text.h"
#include "cli/render/report/power_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/event_stream.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/value/proto_value.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/power.grpc.pb.h"

namespace muster::cli {
namespace {

using PowerStub = v1::PowerService::Stub;
using NodeStub = v1::NodeService::Stub;
using Stream = EventStream<v1::PowerEvent>;

struct PowerOptions {
  std::string nodes, reason, boot_once;
  bool soft = false, force = false, yes = false, off = false;
};

struct Device {
  const char* word;
  v1::BootDevice device;
};
constexpr Device kDevices[] = {
    {"pxe", v1::BOOT_DEVICE_PXE}, {"disk", v1::BOOT_DEVICE_DISK}, {"bios", v1::BOOT_DEVICE_BIOS}};

// What has come of the order until now.
struct OrderSoFar {
  v1::PowerBegun begun;
  std::map<std::string, v1::NodePower> latest;  // by node

  void Take(v1::PowerEvent& event) {
    if (event.has_begun()) begun = std::move(*event.mutable_begun());
    if (event.has_node()) {
      v1::NodePower& node = latest[event.node().node()];
      // An order that was taken does not say what the machine is meanwhile.
      if (event.node().state() == v1::POWER_STATE_UNSPECIFIED &&
          event.node().step() == v1::POWER_STEP_ASKED)
        event.mutable_node()->set_state(node.state());
      node = std::move(*event.mutable_node());
    }
  }
  // In the order of the inventory.
  std::vector<v1::NodePower> Nodes() const {
    std::vector<v1::NodePower> nodes;
    for (const std::string& name : begun.nodes()) {
      const auto found = latest.find(name);
      if (found != latest.end()) nodes.push_back(found->second);
    }
    return nodes;
  }
};

void ShowResult(Context& context, const OrderSoFar& order) {
  const std::vector<v1::NodePower> nodes = order.Nodes();
  nlohmann::ordered_json value = {{"action_id", order.begun.action_id()},
                                  {"nodes", nlohmann::ordered_json::array()}};
  if (context.output != OutputFormat::kTable) {
    for (const v1::NodePower& node : nodes) value["nodes"].push_back(ProtoToValue(node));
  }
  Show(context, value, [&] { return RenderPower(nodes); });
}

// Follows the order until its end or Ctrl-C.
absl::StatusOr<int> Follow(Context& context, Connection& connection,
                           const std::function<Stream::Reader(grpc::ClientContext*)>& open,
                           bool is_change) {
  const InterruptFlag interrupt;
  OrderSoFar order;
  std::optional<grpc::Status> status;
  {
    std::optional<Terminal> terminal;
    if (context.output == OutputFormat::kTable) terminal.emplace();
    Stream stream([&](grpc::ClientContext* call) {
      if (!connection.verb().empty()) call->AddMetadata(kVerbMetadata, connection.verb());
      return open(call);
    });
    while (!status.has_value() && !InterruptFlag::IsSet()) {
      std::deque<v1::PowerEvent> events = stream.Take(*context.clock, InterruptFlag::kInterval);
      for (v1::PowerEvent& event : events) order.Take(event);
      status = stream.Ended();
      const bool draws = terminal.has_value() && terminal->interactive();
      if (draws && order.begun.nodes_size() > 0 && !status.has_value())
        terminal->Redraw({Tame(
            DescribePowerProgress(static_cast<size_t>(order.begun.nodes_size()), order.Nodes()))});
    }
    if (terminal.has_value() && terminal->interactive()) terminal->Redraw({});
  }
  if (order.begun.nodes_size() > 0) ShowResult(context, order);
  std::cout << std::flush;
  if (!status.has_value()) {
    std::cerr << "muster: interrupted"
              << (is_change ? "; machines that were begun are finished, the others left alone" : "")
              << "\n";
    return kExitDetached;
  }
  RETURN_IF_ERROR(connection.Convert(*status));
  return ExitCodeOfPower(order.Nodes());
}

absl::StatusOr<int> Read(Context& context, const PowerOptions& options) {
  v1::ReadPowerRequest request;
  request.set_nodes(options.nodes);
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  PowerStub stub(connection->channel());
  return Follow(
      context, *connection,
      [&](grpc::ClientContext* call) { return stub.ReadPower(call, request); },
      /*is_change=*/false);
}

absl::Status Ask(Connection& connection, const v1::ChangePowerRequest& request) {
  NodeStub stub(connection.channel());
  v1::GetStatusResponse status;
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::GetStatus, v1::GetStatusRequest(), &status));
  v1::ListNodesRequest selection;
  selection.set_selector(request.nodes());
  v1::ListNodesResponse nodes;
  RETURN_IF_ERROR(Call(connection, stub, &NodeStub::ListNodes, selection, &nodes));
  std::vector<std::string> names;
  for (const v1::Node& node : nodes.nodes()) names.push_back(node.name());
  if (names.empty())
    return absl::InvalidArgumentError(absl::StrCat("'", request.nodes(), "' names no node"));
  v1::ListNodeJobsResponse jobs;
  if (request.force()) {
    v1::ListNodeJobsRequest of;
    of.set_nodes(FoldHostlist(names));
    RETURN_IF_ERROR(Call(connection, stub, &NodeStub::ListNodeJobs, of, &jobs));
  }
  return AskOrRefuse(PowerQuestion(request, status.cluster(), names, jobs), "nothing was done");
}

absl::StatusOr<int> Change(Context& context, const PowerOptions& options, v1::PowerVerb verb) {
  v1::ChangePowerRequest request;
  request.set_nodes(options.nodes);
  request.set_verb(verb == v1::POWER_VERB_IDENTIFY && options.off ? v1::POWER_VERB_END_IDENTIFY
                                                                  : verb);
  request.set_soft(options.soft);
  request.set_force(options.force);
  request.set_reason(options.reason);
  for (const Device& row : kDevices) {
    if (options.boot_once == row.word) request.set_boot_once(row.device);
  }
  const bool ends_work =
      verb == v1::POWER_VERB_OFF || verb == v1::POWER_VERB_CYCLE || verb == v1::POWER_VERB_RESET;
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  if (ends_work && !options.yes) RETURN_IF_ERROR(Ask(*connection, request));
  PowerStub stub(connection->channel());
  return Follow(
      context, *connection,
      [&](grpc::ClientContext* call) { return stub.ChangePower(call, request); },
      /*is_change=*/true);
}

struct Verb {
  const char* name;
  v1::PowerVerb verb;
  const char* help;
  const char* footer;
};
constexpr Verb kVerbs[] = {
    {"on", v1::POWER_VERB_ON, "Switch machines on, those of a rack one after the other",
     "Machines that are on already are left alone. Those of a rack follow each other by "
     "reboot_gap\n"
     "(at least 1s), and never so many at once that the rack's power_limit_watts is exceeded."},
    {"off", v1::POWER_VERB_OFF, "Switch machines off, at once or by their operating system",
     "Refused while Slurm has jobs on a node or may start one, and while a run, a rollout or a\n"
     "validation has it: drain first (muster node drain). --force overrides Slurm alone. Always\n"
     "refused for the machine that the controller runs on."},
    {"cycle", v1::POWER_VERB_CYCLE, "Switch machines off, and on again after some seconds",
     "Refused as `muster power off` is. What has been switched off is always switched on again,\n"
     "also after Ctrl-C."},
    {"reset", v1::POWER_VERB_RESET, "Reset machines at once, without switching them off",
     "Refused as `muster power off` is. `muster node reboot` reboots nodes that still answer."},
    {"identify", v1::POWER_VERB_IDENTIFY, "Switch on the light that shows where machines stand",
     "muster power identify c007; muster power identify c007 --off"},
};

void AddVerb(CLI::App& power, Context& context, const Verb& verb) {
  CLI::App* command = power.add_subcommand(verb.name, verb.help);
  auto options = std::make_shared<PowerOptions>();
  command->add_option("nodes", options->nodes, "Host list, groups, globs")
      ->required()
      ->type_name("NODES");
  const bool goes_off = verb.verb == v1::POWER_VERB_OFF || verb.verb == v1::POWER_VERB_CYCLE;
  const bool ends_work = goes_off || verb.verb == v1::POWER_VERB_RESET;
  if (goes_off)
    command->add_flag(
        "--soft", options->soft,
        "Ask the operating system, which has 5 minutes (in a cycle 15), instead of cutting power");
  if (verb.verb != v1::POWER_VERB_OFF && verb.verb != v1::POWER_VERB_IDENTIFY)
    command->add_option("--boot-once", options->boot_once, "Boot once from pxe, disk or into bios")
        ->check(CLI::IsMember({"pxe", "disk", "bios"}).description(""))
        ->type_name("DEVICE");
  command->add_option("--reason", options->reason, "Why; goes into the audit log")
      ->type_name("TEXT");
  if (ends_work) {
    command->add_flag("--force", options->force, "Whatever jobs Slurm has there: they die");
    command->add_flag("-y,--yes", options->yes, "Do not ask");
  }
  if (verb.verb == v1::POWER_VERB_IDENTIFY)
    command->add_flag("--off", options->off, "Switch the light off");
  command->footer(absl::StrCat(
      verb.footer,
      "\nExit codes: 0 all done, 1 usage or refused, 3 some failed, 130 interrupted."));
  SetAction(command, context,
            [&context, options, code = verb.verb] { return Change(context, *options, code); });
}

}  // namespace

void AddPower(CLI::App& app, Context& context) {
  CLI::App* power = app.add_subcommand(
      "power",
      "Machines on and off by their BMCs: status, on, off, cycle, reset, identify, console");
  power->require_subcommand(1);

  CLI::App* status = power->add_subcommand("status", "Ask BMCs whether their machines are on");
  auto options = std::make_shared<PowerOptions>();
  status->add_option("nodes", options->nodes, "Host list, groups, globs")
      ->required()
      ->type_name("NODES");
  status->footer("Exit codes: 0 all answered, 1 usage or refused, 3 some failed, 130 interrupted.");
  SetAction(status, context, [&context, options] { return Read(context, *options); });

  for (const Verb& verb : kVerbs) AddVerb(*power, context, verb);
  AddPowerConsole(*power, context);
}

}  // namespace muster::cli
