// muster status: the cluster in a few lines.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/output.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "common/base/clock.h"
#include "common/base/hostlist.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

// "2 in service, 1 quarantined"
std::string InSlurm(const v1::GetStatusResponse& status) {
  std::vector<std::string> parts;
  for (const v1::ServiceCount& count : status.services()) {
    parts.push_back(absl::StrCat(count.nodes(), " ", count.service()));
  }
  std::string text = parts.empty() ? "no nodes yet" : absl::StrJoin(parts, ", ");
  if (!status.slurm_gate_trouble().empty()) {
    absl::StrAppend(&text, "; the gate waits: ", status.slurm_gate_trouble());
  }
  return text;
}

std::string Render(const Context& context, const Connection& connection,
                   const v1::GetStatusResponse& status) {
  std::string text = absl::StrCat(
      "cluster     ", status.cluster(), "\ncontroller  ", connection.address(), ", musterd ",
      status.controller_version(), ", up ",
      HumanDuration(context.clock->Now() - ToTime(status.started_at())), "\nnodes       ",
      status.nodes_total(), " known, ", status.nodes_connected(), " connected");
  if (status.nodes_pending() > 0)
    absl::StrAppend(&text, ", ", status.nodes_pending(),
                    " waiting for approval (muster node approve)");
  absl::StrAppend(&text, "\n");
  if (status.nodes_away_size() > 0)
    absl::StrAppend(&text, "away        ",
                    FoldHostlist({status.nodes_away().begin(), status.nodes_away().end()}), "\n");
  for (const std::string& refused : status.facts_refused())
    absl::StrAppend(&text, "distrusted  ", refused, "\n");
  if (status.nodes_locked_size() > 0)
    absl::StrAppend(&text, "locked      ",
                    FoldHostlist({status.nodes_locked().begin(), status.nodes_locked().end()}),
                    ": the key was copied (muster node show, muster audit list)\n");
  absl::StrAppend(&text, "inventory   ",
                  status.has_inventory_revision()
                      ? absl::StrCat("revision ", status.inventory_revision())
                      : std::string("none yet (muster inventory apply)"),
                  "\n");
  if (status.slurm_gate()) absl::StrAppend(&text, "slurm       ", InSlurm(status), "\n");
  absl::StrAppend(&text, "runs        ",
                  status.active_runs_size() == 0 ? std::string("none going on")
                                                 : absl::StrJoin(status.active_runs(), ", "),
                  "\n");
  return text;
}

absl::StatusOr<int> Status(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::NodeService::Stub stub(connection->channel());
  v1::GetStatusResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &v1::NodeService::Stub::GetStatus, v1::GetStatusRequest(),
                       &response));
  Show(context, response, [&] { return Render(context, *connection, response); });
  return kExitClean;
}

}  // namespace

void AddStatus(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("status", "The cluster in a few lines");
  SetAction(command, context, [&context] { return Status(context); });
}

}  // namespace muster::cli
