// muster status: the cluster in a few lines.
#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/report/drift_report.h"
#include "cli/render/report/status_report.h"
#include "cli/render/rollout/policy_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/drift_reader.h"
#include "cli/watch/rollout_watcher.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {
namespace {

// An empty response where the controller is older than this program and does not know the call.
template <typename Response>
absl::StatusOr<Response> OrNothing(absl::StatusOr<Response> response) {
  if (absl::IsUnimplemented(response.status())) return Response();
  return response;
}

absl::StatusOr<int> Status(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::NodeService::Stub stub(connection->channel());
  v1::GetStatusResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &v1::NodeService::Stub::GetStatus, v1::GetStatusRequest(),
                       &response));
  ASSIGN_OR_RETURN(const v1::ListUpdatePoliciesResponse policies,
                   OrNothing(ListPolicies(*connection)));
  ASSIGN_OR_RETURN(const v1::ListDriftResponse drift,
                   OrNothing(ReadDrift(*connection, /*nodes=*/"")));
  Show(context, response, [&] {
    const absl::Time now = context.clock->Now();
    return absl::StrCat(RenderStatus(response, connection->address(), now),
                        RenderPolicyLines(policies, now), RenderDriftLine(drift));
  });
  return kExitClean;
}

}  // namespace

void AddStatus(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("status", "Summarize the cluster in a few lines");
  SetAction(command, context, [&context] { return Status(context); });
}

}  // namespace muster::cli
