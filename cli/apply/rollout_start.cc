#include "cli/apply/rollout_start.h"

#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "cli/render/rollout/rollout_forecast.h"
#include "cli/render/show.h"
#include "cli/watch/rollout_watcher.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "muster/v1/rollout.grpc.pb.h"

namespace muster::cli {
namespace {

using RolloutStub = v1::RolloutService::Stub;

constexpr absl::Duration kStartTimeout = absl::Minutes(1);

}  // namespace

absl::StatusOr<v1::PreviewRolloutResponse> PreviewOf(const Connection& connection,
                                                     const v1::CreateRolloutRequest& request) {
  RolloutStub stub(connection.channel());
  v1::PreviewRolloutResponse preview;
  RETURN_IF_ERROR(
      Call(connection, stub, &RolloutStub::PreviewRollout, request, &preview, kStartTimeout));
  return preview;
}

absl::Status AskToUpdate(Context& context, const Connection& connection,
                         const v1::CreateRolloutRequest& request, bool yes, bool detach) {
  const bool is_shown = context.output == OutputFormat::kTable && !detach;
  if (yes && !is_shown) return absl::OkStatus();
  ASSIGN_OR_RETURN(const v1::PreviewRolloutResponse preview, PreviewOf(connection, request));
  if (context.output == OutputFormat::kTable)
    std::cout << Tame(RenderForecast(preview)) << "\n" << std::flush;
  if (yes) return absl::OkStatus();
  return AskOrRefuse(UpdateQuestion(preview), "nothing was started");
}

absl::StatusOr<int> StartRollout(Context& context, Connection& connection,
                                 const v1::CreateRolloutRequest& request, bool detach) {
  RolloutStub stub(connection.channel());
  v1::CreateRolloutResponse response;
  RETURN_IF_ERROR(
      Call(connection, stub, &RolloutStub::CreateRollout, request, &response, kStartTimeout));
  const std::string& id = response.rollout().rollout_id();
  if (detach) {
    std::cout << id << "\n";
    return kExitClean;
  }
  // Before the events, which do not name the rollout.
  std::cout << (context.output == OutputFormat::kTable ? absl::StrCat("rollout ", id, "\n")
                                                       : JsonLine(response))
            << std::flush;
  return WatchRollout(context, connection, id);
}

}  // namespace muster::cli
