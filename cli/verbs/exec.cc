// muster exec: a program on many nodes, for administrators.
#include <CLI/CLI.hpp>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/apply/duration_option.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/render/plain_text.h"
#include "cli/render/report/command_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/event_stream.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/command_limits.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/value/proto_value.h"
#include "muster/v1/command.grpc.pb.h"

namespace muster::cli {
namespace {

using CommandStub = v1::CommandService::Stub;

struct ExecOptions {
  std::string nodes;
  std::vector<std::string> argv;
  std::string timeout;
  unsigned at_once = kCommandsAtOnce;
};

// What has come of the command until now.
struct Gathered {
  v1::CommandBegun begun;
  std::map<std::string, v1::CommandEnd> ends;  // by node
  std::string output_sha256;

  void Take(v1::RunCommandResponse& event) {
    if (event.has_begun()) begun = std::move(*event.mutable_begun());
    if (event.has_node_ended())
      ends[event.node_ended().node()] = std::move(*event.mutable_node_ended()->mutable_end());
    if (event.has_done()) output_sha256 = event.done().output_sha256();
  }
  // In the order of the inventory.
  std::vector<v1::NodeCommandEnd> Nodes() {
    std::vector<v1::NodeCommandEnd> nodes;
    for (const std::string& name : begun.nodes()) {
      const auto found = ends.find(name);
      if (found == ends.end()) continue;
      nodes.emplace_back().set_node(name);
      *nodes.back().mutable_end() = std::move(found->second);
    }
    return nodes;
  }
};

void ShowResult(Context& context, const Gathered& gathered,
                const std::vector<v1::NodeCommandEnd>& nodes) {
  nlohmann::ordered_json value = {{"command_id", gathered.begun.command_id()},
                                  {"output_sha256", gathered.output_sha256},
                                  {"nodes", nlohmann::ordered_json::array()}};
  if (context.output != OutputFormat::kTable) {
    for (const v1::NodeCommandEnd& node : nodes) value["nodes"].push_back(ProtoToValue(node));
  }
  Show(context, value, [&] { return RenderCommand(nodes); });
}

absl::StatusOr<int> Exec(Context& context, const ExecOptions& options) {
  v1::RunCommandRequest request;
  request.set_nodes(options.nodes);
  request.mutable_argv()->Assign(options.argv.begin(), options.argv.end());
  request.set_at_once(options.at_once);
  if (!options.timeout.empty()) {
    ASSIGN_OR_RETURN(
        const absl::Duration timeout,
        ParseDurationOption("--timeout", options.timeout, absl::Seconds(1), "60s or 5m"));
    *request.mutable_time_limit() = ToProtoDuration(timeout);
  }
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  CommandStub stub(connection->channel());
  const InterruptFlag interrupt;
  Gathered gathered;
  std::optional<grpc::Status> status;
  {
    // Its end ends the command on all nodes.
    EventStream<v1::RunCommandResponse> stream([&](grpc::ClientContext* call) {
      if (!connection->verb().empty()) call->AddMetadata(kVerbMetadata, connection->verb());
      return stub.RunCommand(call, request);
    });
    while (!status.has_value() && !InterruptFlag::IsSet()) {
      std::deque<v1::RunCommandResponse> events =
          stream.Take(*context.clock, InterruptFlag::kInterval);
      for (v1::RunCommandResponse& event : events) gathered.Take(event);
      status = stream.Ended();
    }
  }
  const std::vector<v1::NodeCommandEnd> nodes = gathered.Nodes();
  const auto open = static_cast<size_t>(gathered.begun.nodes_size()) - nodes.size();
  if (!gathered.begun.command_id().empty()) ShowResult(context, gathered, nodes);
  std::cout << std::flush;
  if (const std::string failures = DescribeCommandFailures(nodes); !failures.empty())
    std::cerr << "muster: " << Tame(failures) << "\n";
  if (!status.has_value()) {
    std::cerr << "muster: interrupted; the command was ended on " << open
              << " nodes or not begun\n";
    return kExitDetached;
  }
  RETURN_IF_ERROR(connection->Convert(*status));
  return ExitCodeOfCommand(nodes);
}

}  // namespace

void AddExec(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("exec", "Run a program on nodes and show what it said (administrators)");
  auto options = std::make_shared<ExecOptions>();
  command->add_option("nodes", options->nodes, "Host list, groups, globs")
      ->required()
      ->type_name("NODES");
  command->add_option("argv", options->argv, "The program and its arguments, after --; no shell")
      ->required()
      ->type_name("PROGRAM");
  command->add_option("--timeout", options->timeout, "Kill it on a node after this (default 60s)")
      ->type_name("DURATION");
  command
      ->add_option("--at-once", options->at_once,
                   absl::StrCat("Nodes that run it at the same time (default ", kCommandsAtOnce,
                                ", at most ", kMaxCommandsAtOnce, ")"))
      ->check(CLI::Range(1u, kMaxCommandsAtOnce).description(""))
      ->type_name("N");
  command->footer(
      "muster exec 'c[001-016]' -- uptime\n"
      "muster exec gpu --timeout 5m -- sh -c 'nvidia-smi -q | grep Pending'\n\n"
      "It runs as root, without input; of its output the last 64 KiB are shown, equal nodes\n"
      "together. Ctrl-C, and the end of the time, kill it and all that it has started. Nodes,\n"
      "arguments and a digest of the output are in the audit log, so pass no secrets. Off unless\n"
      "controller.yaml has exec: \"on\".\n"
      "Exit codes: 0 it exited with 0 on every node, 1 usage or refused, 3 it failed on some,\n"
      "4 some could not be reached, 130 interrupted.");
  SetAction(command, context, [&context, options] { return Exec(context, *options); });
}

}  // namespace muster::cli
