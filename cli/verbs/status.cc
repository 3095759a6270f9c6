// muster status: the cluster in a few lines.
#include <CLI/CLI.hpp>

#include "cli/connection.h"
#include "cli/render/show.h"
#include "cli/render/status_report.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "muster/v1/node.grpc.pb.h"

namespace muster::cli {
namespace {

absl::StatusOr<int> Status(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::NodeService::Stub stub(connection->channel());
  v1::GetStatusResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &v1::NodeService::Stub::GetStatus, v1::GetStatusRequest(),
                       &response));
  Show(context, response,
       [&] { return RenderStatus(response, connection->address(), context.clock->Now()); });
  return kExitClean;
}

}  // namespace

void AddStatus(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("status", "Summarize the cluster in a few lines");
  SetAction(command, context, [&context] { return Status(context); });
}

}  // namespace muster::cli
