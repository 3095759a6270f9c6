// muster boot: what nodes boot from the network.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/render/report/boot_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/boot.grpc.pb.h"
#include "muster/v1/power.grpc.pb.h"

namespace muster::cli {
namespace {

using BootStub = v1::BootService::Stub;

struct BootOptions {
  std::string nodes, what;
  bool once = false;
};

// What machines whose boot has gone wrong have written since it began. Nothing is an error: who may
// not read consoles, or has none read, sees the boots all the same.
ConsoleEnds ReadConsoles(Connection& connection, const v1::ListBootsResponse& boots,
                         absl::Time now) {
  constexpr size_t kMostNodes = 8;  // more would hide the table
  constexpr uint32_t kRows = 8;
  v1::PowerService::Stub stub(connection.channel());
  ConsoleEnds consoles;
  for (const v1::NodeBoot& boot : boots.nodes()) {
    if (consoles.size() >= kMostNodes) break;
    if (!HasGoneWrong(boot.last(), now)) continue;
    v1::ReadConsoleRequest request;
    request.set_node(boot.node());
    request.set_rows(kRows);
    v1::ReadConsoleResponse response;
    const absl::Status read =
        Call(connection, stub, &v1::PowerService::Stub::ReadConsole, request, &response);
    if (absl::IsPermissionDenied(read) || absl::IsUnavailable(read)) break;
    for (const v1::ConsoleRow& row : response.rows()) {
      if (ToTime(row.time()) >= ToTime(boot.last().steps(0).time()))
        consoles[boot.node()].push_back(row.text());
    }
  }
  return consoles;
}

absl::StatusOr<int> ShowBoots(Context& context, const BootOptions& options) {
  v1::ListBootsRequest request;
  request.set_nodes(options.nodes);
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  BootStub stub(connection->channel());
  v1::ListBootsResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &BootStub::ListBoots, request, &response));
  const absl::Time now = context.clock->Now();
  ConsoleEnds consoles;
  if (context.output == OutputFormat::kTable) consoles = ReadConsoles(*connection, response, now);
  Show(context, response, [&] { return RenderBoots(response, consoles, now); });
  return kExitClean;
}

absl::StatusOr<int> SetOrders(Context& context, const BootOptions& options) {
  v1::SetBootRequest request;
  request.set_nodes(options.nodes);
  request.set_what(options.what);
  request.set_once(options.once);
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  BootStub stub(connection->channel());
  v1::SetBootResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &BootStub::SetBoot, request, &response));
  Show(context, response, [&] {
    return absl::StrCat(FoldHostlist({response.nodes().begin(), response.nodes().end()}), ": ",
                        options.what,
                        options.once ? " at the next boot, once" : " from the next boot on", "\n");
  });
  return kExitClean;
}

absl::StatusOr<int> ClearOrders(Context& context, const BootOptions& options) {
  v1::ClearBootRequest request;
  request.set_nodes(options.nodes);
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  BootStub stub(connection->channel());
  v1::ClearBootResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &BootStub::ClearBoot, request, &response));
  Show(context, response, [&] {
    const std::vector<std::string> names(response.nodes().begin(), response.nodes().end());
    return names.empty() ? std::string("no orders there\n")
                         : absl::StrCat(FoldHostlist(names), ": as the inventory says\n");
  });
  return kExitClean;
}

}  // namespace

void AddBoot(CLI::App& app, Context& context) {
  CLI::App* boot = app.add_subcommand("boot", "What nodes boot from the network: show, set, clear");
  boot->require_subcommand(1);
  const auto options = std::make_shared<BootOptions>();

  CLI::App* show = boot->add_subcommand("show", "What nodes boot next, and how far they came last");
  show->add_option("nodes", options->nodes, "Host list, groups, globs; default: all")
      ->type_name("NODES");
  SetAction(show, context, [&context, options] { return ShowBoots(context, *options); });

  CLI::App* set = boot->add_subcommand("set", "Order what nodes boot, whatever the inventory says");
  set->add_option("nodes", options->nodes, "Host list, groups, globs")
      ->required()
      ->type_name("NODES");
  set->add_option("what", options->what, "disk, rescue, or an image")
      ->required()
      ->type_name("IMAGE");
  set->add_flag("--once", options->once, "For the next boot alone");
  set->footer(
      "An order for an image is used up when the last byte of its root was sent to the node, one\n"
      "for the disk when its script was. An image of the kind disk is written to the node's disk,\n"
      "after which the node boots that, and its order is used up with or without --once.\n"
      "Nothing is rebooted: muster node reboot, muster power cycle.");
  SetAction(set, context, [&context, options] { return SetOrders(context, *options); });

  CLI::App* clear = boot->add_subcommand("clear", "Take orders back: boot what the inventory says");
  clear->add_option("nodes", options->nodes, "Host list, groups, globs")
      ->required()
      ->type_name("NODES");
  SetAction(clear, context, [&context, options] { return ClearOrders(context, *options); });
}

}  // namespace muster::cli
