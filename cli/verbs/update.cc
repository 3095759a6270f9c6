// muster update: one playbook over nodes in service, a few at a time.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/apply/site_bundle.h"
#include "cli/apply/update_options.h"
#include "cli/connection.h"
#include "cli/render/plain_text.h"
#include "cli/render/rollout/rollout_forecast.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/rollout_watcher.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "muster/v1/rollout.grpc.pb.h"

namespace muster::cli {
namespace {

using RolloutStub = v1::RolloutService::Stub;

// The controller asks Slurm and every node first, which may take a while.
constexpr absl::Duration kStartTimeout = absl::Minutes(1);

absl::StatusOr<v1::PreviewRolloutResponse> Preview(Connection& connection,
                                                   const v1::CreateRolloutRequest& request) {
  RolloutStub stub(connection.channel());
  v1::PreviewRolloutResponse preview;
  RETURN_IF_ERROR(
      Call(connection, stub, &RolloutStub::PreviewRollout, request, &preview, kStartTimeout));
  return preview;
}

// Shows the forecast to people, and asks unless the answer is known.
absl::Status AskToUpdate(Context& context, Connection& connection,
                         const v1::CreateRolloutRequest& request, const UpdateOptions& options) {
  const bool is_shown = context.output == OutputFormat::kTable && !options.detach;
  if (options.yes && !is_shown) return absl::OkStatus();
  ASSIGN_OR_RETURN(const v1::PreviewRolloutResponse preview, Preview(connection, request));
  if (context.output == OutputFormat::kTable)
    std::cout << Tame(RenderForecast(preview)) << "\n" << std::flush;
  if (options.yes) return absl::OkStatus();
  return AskOrRefuse(UpdateQuestion(preview), "nothing was started");
}

absl::StatusOr<int> Update(Context& context, const UpdateOptions& options) {
  ASSIGN_OR_RETURN(v1::CreateRolloutRequest request, RequestFor(options));
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSite(options.run.playbook));
  if (!options.yes && !options.plan)
    RETURN_IF_ERROR(RequireTerminal("--plan to see what would happen"));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RETURN_IF_ERROR(UploadBundle(*connection, bundle));
  request.set_bundle_sha256(bundle.sha256);
  request.set_playbook(bundle.playbook);
  if (options.plan) {
    ASSIGN_OR_RETURN(const v1::PreviewRolloutResponse preview, Preview(*connection, request));
    Show(context, preview, [&] { return RenderForecast(preview); });
    return kExitClean;
  }
  RETURN_IF_ERROR(AskToUpdate(context, *connection, request, options));
  RolloutStub stub(connection->channel());
  v1::CreateRolloutResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &RolloutStub::CreateRollout, request, &response, kStartTimeout));
  const std::string& id = response.rollout().rollout_id();
  if (options.detach) {
    std::cout << id << "\n";
    return kExitClean;
  }
  // Before the events, which do not name the rollout.
  std::cout << (context.output == OutputFormat::kTable ? absl::StrCat("rollout ", id, "\n")
                                                       : JsonLine(response))
            << std::flush;
  return WatchRollout(context, *connection, id);
}

}  // namespace

void AddUpdate(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("update", "Apply a playbook to nodes in service, a few at a time");
  auto options = std::make_shared<UpdateOptions>();
  AddUpdateOptions(*command, *options);
  command->footer(
      "Each node is drained, updated, tested and resumed by itself; jobs end by themselves.\n"
      "Ctrl-C detaches: the rollout continues, and `muster rollout watch` follows it again.\n"
      "Exit codes: 0 every node is updated, 1 usage or refused, 3 nodes failed or were skipped, "
      "or\n"
      "the rollout was aborted or rolled back, 130 detached.");
  SetAction(command, context, [&context, options] { return Update(context, *options); });
}

}  // namespace muster::cli
