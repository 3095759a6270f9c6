// muster secret rotate: replaces a secret's value by a new one on all nodes that use it.
//
// The controller keeps the next value and the phase of the rotation; this verb drives the runs.
// After an interruption anywhere, `--resume` continues from the phase that the controller
// remembers.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/apply/run_start.h"
#include "cli/connection.h"
#include "cli/context.h"
#include "cli/render/show.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/run_watcher.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "muster/v1/secret.grpc.pb.h"

namespace muster::cli {
namespace {

using RunStub = v1::RunService::Stub;
using SecretStub = v1::SecretService::Stub;

constexpr uint32_t kRecentRuns = 50;

struct SecretRotateOptions {
  std::string name, site = "playbooks/site.yaml";
  uint32_t bytes = 0;
  bool resume = false, abandon = false, without_missing = false, yes = false;
};

std::string PhaseText(const v1::SecretRotation& rotation) {
  switch (rotation.phase()) {
    case v1::ROTATION_PHASE_STAGING:
      return "staging: the nodes still use the current value";
    case v1::ROTATION_PHASE_SWITCHING:
      return "switching: nodes may use the current or the next value";
    case v1::ROTATION_PHASE_REVERTING:
      return "reverting: nodes go back to the current value";
    default:
      return "unknown to this muster";
  }
}

std::string UsesText(const v1::RotateSecretResponse& response) {
  std::string text;
  for (const v1::SecretUse& use : response.uses()) {
    absl::StrAppend(&text, "  role ", use.role(), " on ",
                    FoldHostlist({use.nodes().begin(), use.nodes().end()}), "\n");
  }
  return text.empty() ? "  no role of the site\n" : text;
}

// Carries one rotation to its end.
class SecretRotation {
 public:
  SecretRotation(Context& context, Connection& connection, const SecretRotateOptions& options,
                 const SiteBundle& bundle)
      : context_(context),
        connection_(connection),
        options_(options),
        bundle_(bundle),
        runs_(connection.channel()),
        secrets_(connection.channel()) {}

  absl::StatusOr<int> Carry() {
    if (options_.resume) {
      ASSIGN_OR_RETURN(const std::optional<int> left, AwaitEarlierRun());
      if (left.has_value()) return *left;
    }
    v1::RotateSecretRequest request;
    request.set_name(options_.name);
    request.set_action(options_.resume    ? v1::ROTATION_ACTION_RESUME
                       : options_.abandon ? v1::ROTATION_ACTION_ABANDON
                                          : v1::ROTATION_ACTION_START);
    request.set_bytes(options_.bytes);
    request.set_bundle_sha256(bundle_.sha256);
    request.set_site_playbook(bundle_.playbook);
    request.set_without_missing(options_.without_missing);
    v1::RotateSecretResponse response;
    RETURN_IF_ERROR(Call(connection_, secrets_, &SecretStub::RotateSecret, request, &response));
    if (!response.rotation().limit().empty()) return Drive(response);
    if (options_.abandon) {
      Words(context_) << "The rotation of " << options_.name
                      << " is abandoned: no node had taken the "
                      << "next value; version " << response.version() << " stays.\n";
    } else {
      Words(context_) << "Secret " << options_.name << " is at version " << response.version()
                      << ". It is used by\n"
                      << UsesText(response) << "which get it with the next `muster apply "
                      << options_.site << "`.\n";
    }
    return kExitClean;
  }

 private:
  // A run that an earlier command left behind works on the same nodes: it has to end first.
  absl::StatusOr<std::optional<int>> AwaitEarlierRun() {
    v1::ListRunsRequest request;
    request.set_limit(kRecentRuns);
    v1::ListRunsResponse response;
    RETURN_IF_ERROR(Call(connection_, runs_, &RunStub::ListRuns, request, &response));
    const std::string suffix = absl::StrCat("rotate_", options_.name, ".yaml");
    for (const v1::Run& run : response.runs()) {
      const std::string& playbook = run.playbook();
      if (run.state() != v1::RUN_STATE_RUNNING || playbook.size() < suffix.size() ||
          playbook.compare(playbook.size() - suffix.size(), suffix.size(), suffix) != 0)
        continue;
      Words(context_) << "An earlier part of the rotation continues.\n";
      ASSIGN_OR_RETURN(const int rc, WatchRun(context_, connection_, run.run_id(), {}));
      if (rc == kExitDetached) return std::optional<int>(rc);
    }
    return std::optional<int>();
  }

  absl::StatusOr<int> Drive(const v1::RotateSecretResponse& response) {
    v1::SecretRotation rotation = response.rotation();
    Words(context_) << "Secret " << options_.name << ": version "
                    << (rotation.phase() == v1::ROTATION_PHASE_REVERTING ? response.version()
                                                                         : rotation.next_version())
                    << " to " << rotation.limit() << ", used by\n"
                    << UsesText(response);
    if (response.missing_size() > 0) {
      Words(context_) << "Without "
                      << FoldHostlist({response.missing().begin(), response.missing().end()})
                      << ": cut off from the others until `muster apply` has reached them.\n";
    }
    // Going back to the current value means staging it again, too.
    const bool is_back = rotation.phase() == v1::ROTATION_PHASE_REVERTING;
    if (is_back) {
      ASSIGN_OR_RETURN(const RunEnd end, RunPart(rotation, "stage"));
      if (end.exit_code != kExitClean) return Stopped(rotation, end);
    }
    while (true) {
      const bool is_stage = rotation.phase() == v1::ROTATION_PHASE_STAGING;
      ASSIGN_OR_RETURN(const RunEnd end, RunPart(rotation, is_stage ? "stage" : "switch"));
      if (end.exit_code != kExitClean) return Stopped(rotation, end);
      v1::AdvanceRotationRequest request;
      request.set_name(options_.name);
      request.set_run_id(end.run_id);
      v1::AdvanceRotationResponse advanced;
      RETURN_IF_ERROR(
          Call(connection_, secrets_, &SecretStub::AdvanceRotation, request, &advanced));
      if (!advanced.has_rotation()) {
        Words(context_) << "Secret " << options_.name << " is at version " << advanced.version()
                        << " on all of these nodes.\n";
        return kExitClean;
      }
      rotation = advanced.rotation();
    }
  }

  struct RunEnd {
    int exit_code = kExitClean;
    std::string run_id;
  };

  absl::StatusOr<RunEnd> RunPart(const v1::SecretRotation& rotation, const std::string& tag) {
    v1::CreateRunRequest request;
    request.set_bundle_sha256(bundle_.sha256);
    request.set_playbook(rotation.playbook());
    request.set_limit(rotation.limit());
    request.add_tags(tag);
    // A node that is left behind could not talk to the others afterwards.
    ASSIGN_OR_RETURN(const v1::Run run, StartRun(connection_, request, IfBusy::kRefuse));
    RunEnd end;
    end.run_id = run.run_id();
    ASSIGN_OR_RETURN(end.exit_code, WatchRun(context_, connection_, end.run_id, {}));
    return end;
  }

  int Stopped(const v1::SecretRotation& rotation, const RunEnd& end) {
    std::cerr << "The rotation of " << options_.name << " waits, " << PhaseText(rotation)
              << ". See `muster run show " << end.run_id << "`, then continue with `muster secret "
              << "rotate " << options_.name << " --resume` or go back with --abandon.\n";
    return end.exit_code;
  }

  Context& context_;
  Connection& connection_;
  const SecretRotateOptions& options_;
  const SiteBundle& bundle_;
  RunStub runs_;
  SecretStub secrets_;
};

absl::StatusOr<int> RotateSecret(Context& context, const SecretRotateOptions& options) {
  if (options.resume && options.abandon)
    return absl::InvalidArgumentError("--resume and --abandon exclude each other");
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSite(options.site));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  if (!options.yes) {
    v1::NodeService::Stub nodes(connection->channel());
    v1::GetStatusResponse status;
    RETURN_IF_ERROR(Call(*connection, nodes, &v1::NodeService::Stub::GetStatus,
                         v1::GetStatusRequest(), &status));
    RETURN_IF_ERROR(AskOrRefuse(
        absl::StrCat(options.abandon ? "Go back to the current value of " : "Bring a new value of ",
                     options.name, " to all nodes of cluster ", status.cluster(), " that use it (",
                     status.nodes_connected(), " of ", status.nodes_total(),
                     " nodes are connected)?"),
        "nothing was changed"));
  }
  RETURN_IF_ERROR(UploadBundle(*connection, bundle));
  return SecretRotation(context, *connection, options, bundle).Carry();
}

}  // namespace

void AddSecretRotate(CLI::App& secret, Context& context) {
  CLI::App* command =
      secret.add_subcommand("rotate", "Replace a value everywhere with a new random one");
  auto options = std::make_shared<SecretRotateOptions>();
  command->add_option("name", options->name, "A secret that exists")
      ->required()
      ->type_name("SECRET");
  command
      ->add_option("--site", options->site,
                   "The playbook that determines which nodes use it (default playbooks/site.yaml); "
                   "rotate_NAME.yaml beside it brings the value to them")
      ->type_name("PLAYBOOK");
  command->add_option("-b,--bytes", options->bytes, "Random bytes (default: as many as now)")
      ->type_name("COUNT");
  command->add_flag("--resume", options->resume, "Continue a rotation that was interrupted");
  command->add_flag("--abandon", options->abandon,
                    "Abandon a rotation: return to the current value");
  command->add_flag("--without-missing", options->without_missing,
                    "Leave out nodes that are not connected; they cannot talk to the others until "
                    "`muster apply` has reached them");
  command->add_flag("-y,--yes", options->yes, "Do not ask");
  command->footer(
      "Without a rotate_NAME.yaml beside the site's playbook, the new value is current at once "
      "and\n`muster apply` brings it to the nodes. Exit codes are those of `muster apply`.");
  SetAction(command, context, [&context, options] { return RotateSecret(context, *options); });
}

}  // namespace muster::cli
